"""``df.writeTo`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameWriterV2
from pyspark.sql.utils import to_str

from acidsql import api, bridge
from acidsql.commands import write_frame
from acidsql.commands.transactions import refuse_writing_of_spark
from acidsql.commands.write_frame import NewTable, Replacing
from acidsql.enabled.routing import is_routed, name_parts, named_table, written
from acidsql.enabled.writer_settings import (
    check_options,
    is_acid,
    makes_acid,
    merges_schema,
    refuse_table_of_spark,
    stored_as,
    table_properties,
)
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import already_exists, known_to_spark
from acidsql.session.acid_session import AcidSession


class AcidDataFrameWriterV2(DataFrameWriterV2):  # type: ignore[misc]  # PySpark is untyped here
    """PySpark's writer, which also writes ACID tables; columns are matched by name."""

    def __init__(self, df: DataFrame, table: str) -> None:
        super().__init__(df, table)
        self._name = table
        self._provider: str | None = None
        self._options: dict[str, str] = {}
        self._properties: dict[str, str] = {}
        self._partitioned_by: tuple[str | Column, ...] = ()

    def using(self, provider: str) -> AcidDataFrameWriterV2:
        """See PySpark."""
        super().using(provider)
        self._provider = provider
        return self

    def option(self, key: str, value: Any) -> AcidDataFrameWriterV2:
        """See PySpark."""
        super().option(key, value)
        return self._remember({key: value})

    def options(self, **options: Any) -> AcidDataFrameWriterV2:
        """See PySpark."""
        super().options(**options)
        return self._remember(options)

    def _remember(self, options: Mapping[str, Any]) -> AcidDataFrameWriterV2:
        given = {key: to_str(value) for key, value in options.items() if value is not None}
        self._options.update(given)
        return self

    def tableProperty(self, property: str, value: str) -> AcidDataFrameWriterV2:  # noqa: N802, A002
        """See PySpark."""
        super().tableProperty(property, value)
        self._properties[property] = value
        return self

    def partitionedBy(self, col: str | Column, *cols: str | Column) -> AcidDataFrameWriterV2:  # noqa: N802
        """See PySpark."""
        super().partitionedBy(col, *cols)
        self._partitioned_by = (col, *cols)
        return self

    def create(self) -> None:
        """Create a transactional table, or a table of Spark.

        A table property, ``using("acidsql")`` or the session's setting makes it transactional.
        """

        def made(session: AcidSession, table: Table | None, parts: tuple[str, ...]) -> bool:
            if table is not None:
                raise already_exists(parts)
            return self._create(session, parts, None, Replacing.NEVER)

        if not self._done(made):
            super().create()

    def createOrReplace(self) -> None:  # noqa: N802
        """Create a table as ``create`` does, or replace an ACID table."""

        def made(session: AcidSession, table: Table | None, parts: tuple[str, ...]) -> bool:
            return self._create(session, parts, table, Replacing.IF_THERE)

        if not self._done(made):
            super().createOrReplace()

    def replace(self) -> None:
        """Replace an ACID table; Spark replaces other tables."""

        def made(session: AcidSession, table: Table | None, parts: tuple[str, ...]) -> bool:
            if table is not None or is_acid(self._provider):
                return self._create(session, parts, table, Replacing.ALWAYS)
            return False

        if not self._done(made):
            super().replace()

    def append(self) -> None:
        """Insert into an ACID table; Spark writes other tables."""

        def insert(session: AcidSession, table: Table) -> None:
            write_frame.append(session, table, self._df, merges_schema=self._merges_schema)

        if not self._is_written(insert):
            super().append()

    def overwrite(self, condition: str | Column) -> None:
        """Replace the rows of an ACID table that meet a condition; Spark writes other tables."""

        def insert(session: AcidSession, table: Table) -> None:
            column = F.col(condition) if isinstance(condition, str) else condition
            text = bridge.column_sql(session.spark, column)
            if text.lower() == "true":
                merges = self._merges_schema
                write_frame.overwrite(session, table, self._df, mode="static", merges_schema=merges)
            else:
                self._refuse_merging(table)
                write_frame.overwrite_where(session, table, self._df, text, checked=False)

        if not self._is_written(insert):
            super().overwrite(condition)

    def overwritePartitions(self) -> None:  # noqa: N802
        """Replace the partitions of an ACID table that get rows; Spark writes other tables."""

        def insert(session: AcidSession, table: Table) -> None:
            merges = self._merges_schema
            write_frame.overwrite(session, table, self._df, mode="dynamic", merges_schema=merges)

        if not self._is_written(insert):
            super().overwritePartitions()

    @property
    def _merges_schema(self) -> bool:
        return merges_schema(self._options)

    def _refuse_merging(self, table: Table) -> None:
        if self._merges_schema:
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.WRITE_OPTION",
                f"the rows of {table.full_name} that meet a condition cannot be replaced by rows "
                "with more columns: leave mergeSchema out, and add the columns with ALTER TABLE "
                "before",
            )

    def _is_written(self, insert: Callable[[AcidSession, Table], None]) -> bool:
        """Write to the table if it is an ACID table; return whether it is."""

        def made(session: AcidSession, table: Table | None, _parts: tuple[str, ...]) -> bool:
            if table is None:
                return False
            check_options(self._options, table)
            insert(session, table)
            return True

        return self._done(made)

    def _done(self, do: Callable[[AcidSession, Table | None, tuple[str, ...]], bool]) -> bool:
        """Call ``do`` in an enabled session; return whether it did everything.

        Args:
            do: receives the session, the ACID table of this name or None, and the name's parts.
        """
        if not is_routed(self._spark):
            return False
        with api.working(self._spark) as session:
            parts = name_parts(self._spark, self._name)
            table = written(named_table(session, self._name))
            if parts is not None and do(session, table, parts):
                return True
            refuse_writing_of_spark(session, "writeTo")
            return False

    def _create(
        self,
        session: AcidSession,
        parts: tuple[str, ...],
        table: Table | None,
        replacing: Replacing,
    ) -> bool:
        is_ours = makes_acid(session.spark, self._provider, self._properties)
        if table is not None and not is_ours and self._provider is not None:
            raise _refuse_replace(table, self._provider)
        if table is None and not is_ours:
            return False
        if known_to_spark(session, parts):
            if is_acid(self._provider):
                raise refuse_table_of_spark(parts)
            return False
        new = NewTable(
            name=parts,
            stored_as=stored_as(self._provider),
            partitioned_by=[_column_name(session, column) for column in self._partitioned_by],
            properties=table_properties(self._properties),
        )
        write_frame.create_as(session, new, self._df, replacing)
        return True


def _refuse_replace(table: Table, provider: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.REPLACE_TABLE",
        f"the transactional table {table.full_name} cannot be replaced by one of {provider} that "
        "is not transactional: leave using out, or DROP TABLE first",
    )


def _column_name(session: AcidSession, column: str | Column) -> str:
    """Return the name of a column to partition by.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.PARTITION_TRANSFORM, the column is a transform.
    """
    text = column if isinstance(column, str) else bridge.column_sql(session.spark, column)
    parts = name_parts(session.spark, text)
    if parts is None or len(parts) > 1:
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.PARTITION_TRANSFORM",
            f"a transactional table cannot be partitioned by {text}: name columns",
        )
    return parts[0]
