"""Columns of a table in the form that a statement writes."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.commands.check_constraints import row_conditions
from acidsql.commands.generated_columns import generated_conditions, with_generated_values
from acidsql.commands.identity_columns import with_identity_values
from acidsql.commands.time_zones import to_file_zone, zone_of_columns
from acidsql.metastore.model import Table
from acidsql.schema.acid_file import event_schema
from acidsql.schema.columns import (
    data_schema,
    file_schema,
    has_timestamp,
    partition_schema,
    with_stored_instants,
)
from acidsql.schema.spark_limits import is_written_by_spark
from acidsql.session.acid_session import AcidSession
from acidsql.storage.bucketing import bucket_id, check_bucket_columns
from acidsql.storage.staging import (
    old_part_columns,
    part_columns,
    partition_text,
)
from acidsql.syntax.lexer import quote
from acidsql.transactions.write_transaction import TableWrite


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteSchema:
    """Columns of a table in the form that events need.

    Attributes:
        session: the session.
        table: the table.
        data: the columns in files.
        partitions: the partition columns, typed.
        write: transaction of the statement, which generates values of identity columns for new
            rows; None if the statement is only planned, or if its rows have these values.
    """

    session: AcidSession
    table: Table
    data: StructType
    partitions: StructType
    write: TableWrite | None = None

    @property
    def row(self) -> StructType:
        """Type of an event's ``row``: the columns in files, all nullable and without metadata.

        The columns have their names in the files.
        """
        in_files = file_schema(self.session.spark, self.table)
        schema: StructType = event_schema(in_files)["row"].dataType
        return with_stored_instants(self.table, StructType.fromJson(schema.jsonValue()))

    def stored(
        self,
        rows: DataFrame,
        values: Sequence[str],
        bucket: str,
        acting: str | None = None,
        assigned: Collection[int] | None = None,
        *,
        adds_rows: bool = True,
    ) -> DataFrame:
        """Compute generated values, check constraints, and convert new values to those in files.

        The conversion adds bucket ids. Spark's ORC writer writes insert-only tables, so for these
        it also shifts timestamps to the files' time zone.

        Args:
            rows: rows with the new values.
            values: names of the columns with new values, in the order of the table's columns.
            bucket: name of the column for the bucket id, if the table is bucketed.
            acting: SQL condition for the rows that have new values; None if all rows have them.
            assigned: positions of the columns to which the statement assigns values, None for all.
            adds_rows: whether the rows are new, rather than updated.
        """
        session, table = self.session, self.table
        if adds_rows and table.identity_columns and self.write is not None:
            rows = with_identity_values(self.write, table, rows, values, acting)
        rows = with_generated_values(session, table, rows, values, assigned)
        if self.table.num_buckets and not self.table.insert_only:
            columns = [F.col(name) for name in values]
            rows = rows.withColumn(bucket, bucket_id(self.session.spark, self.table, columns))
        names = [*self.data.names, *self.partitions.names]
        conditions = {
            **generated_conditions(session, table, assigned),
            **row_conditions(session, table),
        }
        rows = bridge.checked_rows(rows, conditions, names, values, acting)
        zone = zone_of_columns(session, self.table.columns)
        if is_written_by_spark(self.table) and zone != session.jvm_time_zone:
            fields = zip(values, self.data.fields, strict=False)
            typed = {name: f.dataType for name, f in fields if has_timestamp(f.dataType)}
            shifted = {n: to_file_zone(session, F.col(n), t, zone) for n, t in typed.items()}
            rows = rows.withColumns(shifted) if shifted else rows
        return rows

    def texts(self, parts: Sequence[str]) -> dict[str, str]:
        """Return SQL that writes the partition values as text, by their names in staging.

        Args:
            parts: SQL of the typed values.
        """
        pairs = zip(parts, self.partitions.fields, strict=True)
        texts = [partition_text(value, field) for value, field in pairs]
        return dict(zip(part_columns(self.table), texts, strict=True))

    def old_texts(self) -> dict[str, str]:
        """Return SQL that writes the partition values of the rows that events delete as text."""
        names = old_part_columns(self.table)
        pairs = zip(names, self.partitions.fields, strict=True)
        return {name: partition_text(name, field) for name, field in pairs}

    def current_parts(self) -> list[str]:
        """Return the table's partition columns as SQL."""
        return [quote(f.name) for f in self.partitions.fields]


def write_schema_of(
    session: AcidSession, table: Table, write: TableWrite | None = None
) -> WriteSchema:
    """Return the write schema of a table.

    Args:
        session: the session.
        table: the table.
        write: see ``WriteSchema``.

    Raises:
        AcidAnalysisError: a bucket column has a type that cannot be hashed
            (UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE).
    """
    check_bucket_columns(session.spark, table)
    return WriteSchema(
        session=session,
        table=table,
        data=data_schema(session.spark, table),
        partitions=partition_schema(session.spark, table),
        write=write,
    )
