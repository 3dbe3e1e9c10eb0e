"""``AcidDataSource``: ``format("acidsql")`` of PySpark 4."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyspark
from pyspark.sql import datasource
from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    InputPartition,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from acidsql.arrow_reader.columns import columns_of
from acidsql.arrow_reader.reading import check_readable
from acidsql.datasource.change_readers import (
    AcidChangeReader,
    AcidStreamReader,
    LateChangeReader,
)
from acidsql.datasource.filters import KEEPS_PLANS, expression_of
from acidsql.datasource.options import (
    Defaults,
    PlannedFor,
    SourceOptions,
    check_written,
    source_options,
)
from acidsql.datasource.reading import TaskPart, plan_tasks, read_now
from acidsql.datasource.types import change_names, schema_ddl, spark_batches
from acidsql.datasource.writing import SharedStaging, commit_batch, commit_staged, staging_for
from acidsql.errors import AcidAnalysisError
from acidsql.scan.change_form import check_has_changes
from acidsql.scan.versions import at_moment

# Spark 4.1 and later pass the rows of a stream as Arrow.
_StreamArrowWriter = getattr(datasource, "DataSourceStreamArrowWriter", None)


class AcidDataSource(DataSource):  # type: ignore[misc] # PySpark is not checked
    """Data source ``format("acidsql")``: ACID tables.

    ``acidsql.register(spark)`` registers it with the session's settings. After
    ``spark.dataSource.register(AcidDataSource)``, an option has to name the metastore.
    """

    defaults: ClassVar[Defaults] = Defaults()

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "acidsql"

    @property
    def _options(self) -> Mapping[str, str]:
        return {key.lower(): value for key, value in self.options.items()}

    @property
    def _given(self) -> SourceOptions:
        return source_options(self._options, self.defaults)

    def _written(self, overwrite: bool) -> SourceOptions:
        given = self._given
        check_written(self._options, given.table)
        if overwrite:
            raise _no_overwrite(given)
        return given

    def schema(self) -> str:
        """Return the definition of the columns that are read."""
        given = self._given
        with given.client() as client:
            table = client.table(given.table)
            check_readable(table)
            last = given.moment if given.changes is None else given.changes.last
            table = at_moment(client.metastore, table, last)
        columns = columns_of(table)
        if given.changes is not None:
            check_has_changes(table)
            return schema_ddl(columns, change_names(columns, given.columns))
        return schema_ddl(columns, columns.chosen(given.columns))

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return a reader of rows, or of changes."""
        given = self._given
        is_late = given.planned_for is PlannedFor.RELATION and KEEPS_PLANS
        if given.changes is not None:
            read_changes = LateChangeReader if is_late else AcidChangeReader
            return read_changes(given, given.changes, schema)
        if is_late:
            return LateReader(given, schema)
        is_filtered = given.planned_for is PlannedFor.FILTERED
        return (FilteringReader if is_filtered else AcidReader)(given, schema)

    def streamReader(self, schema: StructType) -> AcidStreamReader:  # noqa: N802
        """Return a reader of changes as a stream.

        Raises:
            AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES.
        """
        return AcidStreamReader(self._given, schema)

    def writer(self, schema: StructType, overwrite: bool) -> AcidWriter:
        """Return a writer that appends rows in one transaction.

        Raises:
            AcidAnalysisError: UNSUPPORTED_FEATURE.DATA_SOURCE_OVERWRITE,
                UNSUPPORTED_FEATURE.WRITE_OPTION; see ``staging_for``.
        """
        given = self._written(overwrite)
        return AcidWriter(given, staging_for(given, schema.fieldNames()))

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:  # noqa: N802
        """Return a writer that appends each batch of a stream exactly once, in one transaction.

        Raises:
            AcidAnalysisError: UNSUPPORTED_SPARK_VERSION, PySpark 4.0; INVALID_PARAMETER_VALUE, the
                stream has no name; see also ``writer``.
        """
        given = self._written(overwrite)
        if _StreamArrowWriter is None:
            raise AcidAnalysisError(
                "UNSUPPORTED_SPARK_VERSION",
                f"format('acidsql') writes streams from PySpark 4.1 on, and this is "
                f"{pyspark.__version__}: use acidsql.write_stream",
            )
        if given.stream is None:
            raise AcidAnalysisError(
                "INVALID_PARAMETER_VALUE",
                "the stream has no name, by which a repeated batch is known: give option stream or "
                "checkpointLocation",
                {"parameter": "stream"},
            )
        return AcidStreamWriter(given, staging_for(given, schema.fieldNames()))


def _no_overwrite(options: SourceOptions) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.DATA_SOURCE_OVERWRITE",
        f"format('acidsql') does not replace the rows of {options.table}: use mode('append'), or "
        "acidsql.sql with INSERT OVERWRITE",
    )


class AcidPartition(InputPartition):  # type: ignore[misc]
    """Part of a snapshot that one task reads."""

    def __init__(self, part: TaskPart) -> None:
        super().__init__(part)


class LateReader(DataSourceReader):  # type: ignore[misc]
    """Reader for all queries of a frame or view; each query has one task, which takes the snapshot.

    Spark calls ``partitions`` only for the first query, so this method cannot list files.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return one part, which contains no information about the rows."""
        return [InputPartition(self._options.on_another_machine())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the rows as they are now."""
        here = partition.value
        yield from spark_batches(read_now(here, self._schema.fieldNames()), self._schema, here.zone)


class AcidReader(DataSourceReader):  # type: ignore[misc]
    """Reader of the rows of one snapshot, which it takes when a query is planned."""

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        self._options = options
        self._schema = schema
        self._rows: pc.Expression | None = None

    def partitions(self) -> Sequence[InputPartition]:
        """Return the parts of the snapshot."""
        tasks = plan_tasks(self._options, self._schema.fieldNames(), self._rows)
        return [AcidPartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a part; if there are no parts, Spark reads one with the value None."""
        if partition.value is None:
            return
        yield from spark_batches(partition.value.batches(), self._schema, self._options.zone)


class FilteringReader(AcidReader):
    """Reader that skips partitions, files and stripes that filters exclude."""

    def pushFilters(self, filters: list[Any]) -> list[Any]:  # noqa: N802 - PySpark's spelling
        """Use filters to read less, and return all filters, so that Spark evaluates them too."""
        with self._options.client() as client:
            table = at_moment(
                client.metastore, client.table(self._options.table), self._options.moment
            )
        self._rows = expression_of(filters, columns_of(table).schema)
        return filters


@dataclass
class StagedRows(WriterCommitMessage):  # type: ignore[misc]
    """File with the rows of a task; None if the task had no rows."""

    path: Path | None


def _paths(messages: Sequence[Any]) -> list[Path]:
    return [message.path for message in messages if message is not None and message.path]


class AcidWriter(DataSourceArrowWriter):  # type: ignore[misc]
    """Writer of rows: tasks stage the rows, and the commit appends them in one transaction."""

    def __init__(self, options: SourceOptions, staging: SharedStaging) -> None:
        self._options = options
        self._staging = staging
        # Tasks must not create the directory: a task that ends after the write has failed would
        # create it again.
        staging.create()

    def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedRows:
        """Stage the rows of a task."""
        return StagedRows(path=self._staging.write(iterator))

    def commit(self, messages: list[Any]) -> None:
        """Append all rows."""
        commit_staged(self._options, _paths(messages))
        self._staging.delete()

    def abort(self, messages: list[Any]) -> None:
        """Delete the staged files."""
        del messages  # failed tasks have staged files too
        self._staging.delete()


if _StreamArrowWriter is not None:

    class AcidStreamWriter(_StreamArrowWriter):  # type: ignore[misc, valid-type]
        """Writer of the batches of a stream: each exactly once, in one transaction."""

        def __init__(self, options: SourceOptions, staging: SharedStaging) -> None:
            self._options = options
            self._staging = staging

        def write(self, iterator: Iterator[pa.RecordBatch]) -> StagedRows:
            """Stage the rows of a task."""
            self._staging.create()
            return StagedRows(path=self._staging.write(iterator))

        def commit(self, messages: list[Any], batchId: int) -> None:  # noqa: N803 - PySpark's
            """Append the rows of a batch, unless the batch was committed before."""
            paths = _paths(messages)
            commit_batch(self._options, paths, str(self._options.stream), batchId)
            self._staging.forget(paths)

        def abort(self, messages: list[Any], batchId: int) -> None:  # noqa: N803
            """Delete the staged files of a batch."""
            del messages, batchId
            self._staging.delete()
