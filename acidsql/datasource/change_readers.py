"""Spark's readers of changes, for a batch query and for a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from acidsql.arrow_reader.reading import read_transaction
from acidsql.datasource.change_options import CHANGE_FEED, ChangeOptions
from acidsql.datasource.change_reader import Changes, ChangeTask
from acidsql.datasource.options import SourceOptions
from acidsql.datasource.types import spark_batches
from acidsql.errors import AcidAnalysisError

_CHECKPOINT = "checkpoint"
Offset = Mapping[str, str | None]
"""Offset of a stream, in the form of JSON."""


class ChangePartition(InputPartition):  # type: ignore[misc] # PySpark is not checked
    """Changes that one task reads."""

    def __init__(self, task: ChangeTask) -> None:
        super().__init__(task)


class AcidChangeReader(DataSourceReader):  # type: ignore[misc]
    """Reader of the changes between the bounds of its options, for one query."""

    def __init__(self, options: SourceOptions, wanted: ChangeOptions, schema: StructType) -> None:
        self._options = options
        self._wanted = wanted
        self._schema = schema

    def partitions(self) -> Sequence[InputPartition]:
        """Return the parts of the changes."""
        names = self._schema.fieldNames()
        with self._options.client() as client, read_transaction(client) as txn_id:
            changes = Changes(client, self._options.table, self._wanted, txn_id)
            return [ChangePartition(task) for task in changes.tasks_of_options(names)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a part; if there are no parts, Spark reads one with the value None."""
        if partition.value is not None:
            yield from spark_batches(partition.value.batches(), self._schema, self._options.zone)


class LateChangeReader(AcidChangeReader):
    """Reader of changes for all queries of a frame or view: a task determines the changes."""

    def partitions(self) -> Sequence[InputPartition]:
        """Return one part, which contains no information about the changes."""
        return [InputPartition(self._options.on_another_machine())]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read the changes as they are now."""
        here = partition.value
        with here.client() as client, read_transaction(client) as txn_id:
            changes = Changes(client, here.table, self._wanted, txn_id)
            for task in changes.tasks_of_options(self._schema.fieldNames()):
                yield from spark_batches(task.batches(), self._schema, here.zone)


class AcidStreamReader(DataSourceStreamReader):  # type: ignore[misc]
    """Reader of the changes of a table as a stream.

    A read transaction is open while Spark works on a batch, so that cleaners retain its files.

    Args:
        options: the table.
        schema: schema of the columns that are read.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.CHANGES, the options do not request changes, or
            they name the end of the changes.
    """

    def __init__(self, options: SourceOptions, schema: StructType) -> None:
        wanted = options.changes
        if wanted is None:
            raise _invalid(options, f"a stream reads changes: give the option {CHANGE_FEED}")
        if wanted.last is not None:
            raise _invalid(options, "a stream has no end: leave out the last version and time")
        self._options = options
        self._wanted = wanted
        self._schema = schema
        self._held: ExitStack | None = None

    def initialOffset(self) -> Offset:  # noqa: N802 - PySpark's name
        """Return the checkpoint before the first change, for a new stream."""
        with self._options.client() as client:
            return {_CHECKPOINT: Changes(client, *self._arguments, None).first()}

    def latestOffset(self) -> Offset:  # noqa: N802
        """Return the checkpoint after the latest commit."""
        with self._options.client() as client:
            return {_CHECKPOINT: Changes(client, *self._arguments, None).latest()}

    @property
    def _arguments(self) -> tuple[str, ChangeOptions]:
        return self._options.table, self._wanted

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Return the parts of the changes between two checkpoints."""
        self.stop()
        last = end[_CHECKPOINT]
        if last is None:
            return []
        with ExitStack() as stack:
            client = stack.enter_context(self._options.client())
            txn_id = stack.enter_context(read_transaction(client))
            changes = Changes(client, *self._arguments, txn_id)
            names = self._schema.fieldNames()
            tasks = changes.tasks_between(start[_CHECKPOINT], last, names)
            self._held = stack.pop_all()
        return [ChangePartition(task) for task in tasks]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Read a part."""
        yield from spark_batches(partition.value.batches(), self._schema, self._options.zone)

    def commit(self, end: Offset) -> None:
        """Release the files of the batch to cleaners."""
        del end  # Spark stores the offsets
        self.stop()

    def stop(self) -> None:
        """End the read transaction."""
        held, self._held = self._held, None
        if held is not None:
            held.close()


def _invalid(options: SourceOptions, message: str) -> AcidAnalysisError:
    return AcidAnalysisError("INVALID_PARAMETER_VALUE.CHANGES", f"{options.table}: {message}")
