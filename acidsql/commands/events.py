"""From matched rows and new values to row events in staging, and on to a commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from acidsql.metastore.model import FileFormat, Operation, Table
from acidsql.plain_files import settle_plain
from acidsql.resolution import StatementSnapshot
from acidsql.scan.time_zones import to_file_zone
from acidsql.schema import (
    ROW_ID_COLUMN,
    check_written,
    data_schema,
    event_schema,
    partition_schema,
    quote,
)
from acidsql.session import AcidSession
from acidsql.storage.bucketing import bucket_id, check_bucket_columns
from acidsql.storage.settle import Settled, Staging
from acidsql.storage.settle_deletes import settle
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    CHECK_TARGET,
    TARGET,
    Target,
    part_columns,
    partition_text,
    staged_row,
    without_row,
    write_events,
)
from acidsql.transaction import WriteTransaction

_DELETE = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The columns of a table, as events need them."""

    session: AcidSession
    table: Table
    data: StructType
    partitions: StructType

    @property
    def row(self) -> StructType:
        """The type of ``row``: the columns in files, without metadata, all nullable."""
        schema: StructType = event_schema(self.data)["row"].dataType
        return StructType().fromJson(schema.jsonValue())

    def row_columns(self, values: Sequence[Column]) -> list[Column]:
        """``row``, as staging has it, of new values in the order of the table's columns."""
        pairs = zip(values, self.data.fields, strict=False)
        return staged_row([to_file_zone(self.session, v, f.dataType) for v, f in pairs])

    def plain_columns(self, values: Sequence[Column]) -> list[Column]:
        """The columns of an insert-only table's files, then the texts of the partition values."""
        orc = self.table.file_format is FileFormat.ORC
        stored = [
            (to_file_zone(self.session, v, f.dataType) if orc else v).alias(f.name)
            for v, f in zip(values, self.data.fields, strict=False)
        ]
        named = zip(self.parts(values), part_columns(self.table), strict=True)
        return [*stored, *[part.alias(name) for part, name in named]]

    def parts(self, values: Sequence[Column]) -> list[Column]:
        """The texts of the partition values among new values."""
        own = values[len(self.data.fields) :]
        pairs = zip(own, self.partitions.fields, strict=True)
        return [partition_text(value, field) for value, field in pairs]

    def bucket(self, values: Sequence[Column] | None) -> list[Column]:
        """The bucket of new values, if the table is bucketed; None means an event without row."""
        if not self.table.num_buckets:
            return []
        spark = self.session.spark
        chosen = F.lit(0) if values is None else bucket_id(spark, self.table, values)
        return [chosen.alias(BUCKET_COLUMN)]

    def current(self) -> list[Column]:
        """The table's own columns, by name."""
        return [F.col(quote(f.name)) for f in [*self.data.fields, *self.partitions.fields]]


def shape_of(session: AcidSession, table: Table) -> Shape:
    """The shape of a table.

    Raises:
        AcidAnalysisError: it is bucketed in a way that cannot be written
            (UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE).
    """
    check_bucket_columns(session.spark, table)
    return Shape(
        session=session,
        table=table,
        data=data_schema(session.spark, table),
        partitions=partition_schema(session.spark, table),
    )


def snapshot_of(transaction: WriteTransaction) -> StatementSnapshot:
    """What the statement of a write transaction sees."""
    snapshot = StatementSnapshot(
        session=transaction.session, txns=transaction.txns, listings=transaction.listings
    )
    if transaction.seen is not None and transaction.session.metastore.served:
        snapshot.lists[transaction.table.full_name] = transaction.seen, transaction.txns
    return snapshot


def delete_event(
    shape: Shape, statement_id: int, row_id: Column, parts: Sequence[Column]
) -> Column:
    """The event that deletes a row."""
    return _keyed(shape, Target(deletes=True, statement_id=statement_id).name, row_id, parts)


def check_event(shape: Shape, row_id: Column, parts: Sequence[Column]) -> Column:
    """An event that only says that a row was matched."""
    return _keyed(shape, CHECK_TARGET, row_id, parts)


def _keyed(shape: Shape, target: str, row_id: Column, parts: Sequence[Column]) -> Column:
    return _event(
        shape,
        target,
        parts,
        operation=F.lit(_DELETE),
        originalTransaction=row_id.getField("writeid"),
        bucket=row_id.getField("bucketid"),
        rowId=row_id.getField("rowid"),
        row=[F.lit(None).cast(f.dataType) for f in shape.row.fields],
        bucket_of=None,
    )


def insert_event(shape: Shape, statement_id: int, values: Sequence[Column]) -> Column:
    """The event that adds a row; the writer gives it its identity.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    check_written(shape.data)
    return _event(
        shape,
        Target(deletes=False, statement_id=statement_id).name,
        shape.parts(values),
        operation=F.lit(0),
        originalTransaction=F.lit(None).cast("long"),
        bucket=F.lit(None).cast("int"),
        rowId=F.lit(None).cast("long"),
        row=values,
        bucket_of=values,
    )


def _event(
    shape: Shape,
    target: str,
    parts: Sequence[Column],
    row: Sequence[Column],
    bucket_of: Sequence[Column] | None,
    **columns: Column,
) -> Column:
    named = [column.alias(name) for name, column in columns.items()]
    placed = [p.alias(n) for n, p in zip(part_columns(shape.table), parts, strict=True)]
    bucket = shape.bucket(bucket_of)
    return F.struct(*named, *shape.row_columns(row), *placed, *bucket, F.lit(target).alias(TARGET))


def row_id() -> Column:
    """The identity of a scanned row."""
    return F.col(ROW_ID_COLUMN)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How many events of each kind a statement wrote, per statement id."""

    settled: tuple[Settled, ...]

    def events(self, *, deletes: bool, statement_ids: Sequence[int] | None = None) -> int:
        """The number of events of some statement ids (all by default)."""
        return sum(
            s.events
            for s in self.settled
            if s.deletes is deletes and (statement_ids is None or s.statement_id in statement_ids)
        )


def write(
    transaction: WriteTransaction,
    shape: Shape,
    events: DataFrame,
    inserting: Sequence[int],
    *,
    once: bool = True,
) -> Outcome:
    """Write events, given as a column ``event``, and publish what they became.

    Args:
        inserting: the statement ids that add rows.
        once: a row id that is deleted twice is an error (MERGE), otherwise it counts as one.
    """
    stage(transaction, shape, events, inserting)
    return finish(transaction, shape, once=once)


def stage(
    transaction: WriteTransaction, shape: Shape, events: DataFrame, inserting: Sequence[int]
) -> None:
    """Write events, as ``write`` takes them, into staging."""
    flat = events.select("event.*").withColumn(
        "currentTransaction", F.lit(transaction.write_id).cast("long")
    )
    if not inserting:
        flat = without_row(flat)
    rows = [Target(deletes=False, statement_id=i) for i in inserting]
    write_events(flat, transaction.staging, shape.table, transaction.write_id, rows)


def finish(transaction: WriteTransaction, shape: Shape, *, once: bool = True) -> Outcome:
    """Settle what is in staging, and publish it."""
    if shape.table.insert_only:
        plain = settle_plain(transaction.session, shape.table, transaction.staging)
        transaction.publish(plain)
        return Outcome(settled=tuple(plain))
    staging = Staging(
        session=transaction.session,
        path=transaction.staging,
        table=shape.table,
        row=shape.row,
        write_id=transaction.write_id,
        once=once,
    )
    settled = settle(staging)
    transaction.publish(settled)
    return Outcome(settled=tuple(settled))


def changes(
    outcome: Outcome, kinds: Sequence[tuple[Operation, Sequence[int], bool]]
) -> list[tuple[Operation, list[tuple[str, ...]]]]:
    """The partitions that each kind of operation changed.

    Args:
        kinds: operation, its statement ids, and whether to look at its delete events
            or at its rows.
    """
    return [
        (
            operation,
            sorted(
                {
                    s.values
                    for s in outcome.settled
                    if s.statement_id in statement_ids and s.deletes is deletes
                }
            ),
        )
        for operation, statement_ids, deletes in kinds
    ]
