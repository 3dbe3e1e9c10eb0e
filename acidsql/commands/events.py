"""Row events of a statement: built from rows and values, written to staging, then published."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from acidsql import bridge
from acidsql.commands.partition_normalization import as_spelled, usual
from acidsql.commands.write_schema import WriteSchema
from acidsql.injection_points import Point, reach
from acidsql.insert_only.write import finalize_insert_only
from acidsql.metastore.model import Operation
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import recorded_reads
from acidsql.planning.unchanged_reads import UnchangedReads
from acidsql.schema.acid_file import KEYS, ROW_ID_FIELDS
from acidsql.session.metrics import Phase, current, phase
from acidsql.session.settings import Isolation
from acidsql.storage.delete_places import DeletePlaces
from acidsql.storage.driver_writer import Keys, collect_delete_keys, stage_on_driver
from acidsql.storage.finalize import DuplicateKeys, FinishedDirectory, Staging
from acidsql.storage.finalize_deletes import finalize
from acidsql.storage.staging import (
    BUCKET_COLUMN,
    CHECK_TARGET,
    NEW_ROW,
    TARGET,
    Target,
    fields_sql,
    named_sql,
    old_part_columns,
    part_columns,
    write_events,
)
from acidsql.transactions.write_transaction import Change, TableWrite

_DELETE = 2


def snapshot_of(transaction: TableWrite) -> StatementSnapshot:
    """Return the snapshot that the statement of a write transaction reads.

    If the statement is SERIALIZABLE, the commit checks that nothing that it read has changed.
    """
    session, enclosing = transaction.session, transaction.transaction
    changes_rows = transaction.intent.operation is not Operation.SELECT
    serializable = changes_rows and transaction.isolation is Isolation.SERIALIZABLE
    snapshot = StatementSnapshot(
        session=session,
        txns=transaction.txns,
        listings=transaction.listings,
        repeatable=not enclosing.autocommit,
        added={name: written.partitions for name, written in enclosing.written.items()},
        finds_rows=serializable,
        changed=frozenset({transaction.table.full_name}),
    )
    if serializable:
        reads = UnchangedReads(txn_id=transaction.txn_id, snapshot=snapshot)
        transaction.conflict_checks.append(reads)
    is_authority = transaction.session.metastore.capabilities.is_id_authority
    if transaction.seen is not None and is_authority:
        snapshot.lists[transaction.table.full_name] = transaction.seen, transaction.txns
    return recorded_reads(snapshot)


def delete_event(
    shape: WriteSchema, statement_id: int, row_id: str, parts: Sequence[str]
) -> dict[str, str]:
    """Build the event that deletes a row, as SQL of the event's columns by name.

    Args:
        shape: write schema of the table.
        statement_id: statement id of the event.
        row_id: SQL of the row id.
        parts: SQL of the typed partition values of the row.
    """
    target = Target(deletes=True, statement_id=statement_id).name
    return _event(shape, target, _keys(row_id), _nothing(shape), parts, "0")


def check_event(shape: WriteSchema, row_id: str, parts: Sequence[str]) -> dict[str, str]:
    """Build an event that only reports a matched row, for MERGE's cardinality check."""
    return _event(shape, CHECK_TARGET, _keys(row_id), _nothing(shape), parts, "0")


def update_event(
    shape: WriteSchema,
    statement_id: int,
    row_id: str,
    parts: Sequence[str],
    values: Sequence[str],
    bucket: str,
) -> dict[str, str]:
    """Build the event that deletes a row and adds its new version, as SQL of columns by name.

    ``delete_event`` and ``insert_event`` have the same arguments.
    """
    target = Target(deletes=False, statement_id=statement_id).update_name
    return _event(shape, target, _keys(row_id), values, parts, bucket)


def _keys(row_id: str) -> dict[str, str]:
    fields = zip(KEYS, ROW_ID_FIELDS, strict=True)
    return {"operation": str(_DELETE), **{key: f"{row_id}.{field}" for key, field in fields}}


def _nulls(spark: SparkSession, fields: Sequence[StructField]) -> list[str]:
    """Return SQL of a NULL with the type of each field."""
    return [f"CAST(NULL AS {bridge.type_sql(spark, field.dataType)})" for field in fields]


def _nothing(shape: WriteSchema) -> list[str]:
    """Return SQL of the values of an event without a new row."""
    return _nulls(shape.session.spark, [*shape.row.fields, *shape.partitions.fields])


def insert_event(
    shape: WriteSchema, statement_id: int, values: Sequence[str], bucket: str
) -> dict[str, str]:
    """Build the event that adds a row, as SQL of its columns by name; the writer adds the row id.

    Args:
        shape: write schema of the table.
        statement_id: statement id of the event.
        values: SQL of the new values, as ``WriteSchema.stored`` returns them.
        bucket: SQL of the bucket id.
    """
    keys = {name: NEW_ROW[name] for name in ("operation", *KEYS)}
    target = Target(deletes=False, statement_id=statement_id).name
    nowhere = _nulls(shape.session.spark, shape.partitions.fields)
    return _event(shape, target, keys, values, nowhere, bucket)


def insert_events(shape: WriteSchema, rows: DataFrame) -> DataFrame:
    """Build events with statement id 0 that add rows; the rows have the table's column order.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    values = [f"c{i}" for i in range(len(rows.columns))]  # never ambiguous
    stored = shape.stored(bridge.renamed(rows, values), values, BUCKET_COLUMN)
    return bridge.select(stored, *named_sql(insert_event(shape, 0, values, BUCKET_COLUMN)))


def _event(
    shape: WriteSchema,
    target: str,
    keys: dict[str, str],
    values: Sequence[str],
    old_parts: Sequence[str],
    bucket: str,
) -> dict[str, str]:
    stored = len(shape.data.fields)
    placed = dict(zip(part_columns(shape.table), values[stored:], strict=True))
    old = dict(zip(old_part_columns(shape.table), old_parts, strict=True))
    buckets = {BUCKET_COLUMN: bucket} if shape.table.num_buckets else {}
    return {
        **keys,
        **fields_sql(values[:stored]),
        **placed,
        **old,
        **buckets,
        TARGET: f"'{target}'",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteResult:
    """Directories that a statement wrote; each has a statement id and its number of events."""

    finished: tuple[FinishedDirectory, ...]

    def events(self, *, deletes: bool, statement_ids: Sequence[int] | None = None) -> int:
        """Return the number of delete events or of rows with some statement ids, by default all."""
        return sum(d.events for d in self._of(deletes, statement_ids))

    def changed(
        self, operation: Operation, *, deletes: bool, statement_ids: Sequence[int] | None = None
    ) -> Change:
        """Return an operation with the partitions that contain its delete events or its rows.

        Args:
            operation: the operation.
            deletes: whether to look for delete events, rather than rows.
            statement_ids: statement ids of the operation, by default all.
        """
        return operation, sorted({d.values for d in self._of(deletes, statement_ids)})

    def _of(self, deletes: bool, statement_ids: Sequence[int] | None) -> list[FinishedDirectory]:
        return [
            d
            for d in self.finished
            if d.deletes is deletes and (statement_ids is None or d.statement_id in statement_ids)
        ]


@contextmanager
def executing(transaction: TableWrite) -> Iterator[None]:
    """Run the Spark jobs of a statement in the block, which counts as its execution phase.

    The jobs have a name in Spark's UI until the statement ends, because finishing the files can
    take a job too.
    """
    recording = current()
    table = recording.name_of(transaction.table.full_name)
    name = f"{recording.operation} {table} (write), txn {transaction.txn_id}"
    spark = transaction.session.spark
    transaction.at_end.enter_context(bridge.job_description(spark, name))
    with phase(Phase.EXECUTE), bridge.naming_column(table):
        yield


def write(
    transaction: TableWrite,
    shape: WriteSchema,
    events: DataFrame,
    inserting: Sequence[int],
    *,
    seen: StatementSnapshot,
    only: str | None = None,
    duplicate_keys: DuplicateKeys = DuplicateKeys.NEVER,
    likely: int | None = None,
) -> WriteResult:
    """Write events to staging, finalise them and publish the directories.

    Args:
        transaction: the transaction.
        shape: write schema of the table.
        events: columns of an event except ``currentTransaction``, with typed partition values.
        inserting: statement ids that add rows.
        seen: snapshot that the statement reads.
        only: name of the target of all events, if they have only one.
        duplicate_keys: whether the events can delete a row id twice, and how that is handled.
        likely: see ``stage_on_driver``.
    """
    rows = [transaction.target(i) for i in inserting]
    events = _with_texts(shape, events)
    place = transaction.staging, shape.table, transaction.write_id
    with executing(transaction):
        read = len(seen.partitions(shape.table))
        keys = stage_on_driver(events, *place, rows, read, likely)
        places = _places(shape, seen) if keys is None else None
        if keys is None:
            write_events(events, *place, rows, only, places)
    return finish(transaction, shape, keys, seen, duplicate_keys, places)


def delete(
    transaction: TableWrite, shape: WriteSchema, events: DataFrame, seen: StatementSnapshot
) -> WriteResult:
    """Write delete events with statement id 0, finalise them and publish the directories."""
    events = _with_texts(shape, events)
    with executing(transaction):
        keys = collect_delete_keys(events, shape.table)
        places = _places(shape, seen) if keys is None else None
        if keys is None:
            place = transaction.staging, shape.table, transaction.write_id
            only = Target(deletes=True, statement_id=0).name
            write_events(events, *place, [], only, places)
    return finish(transaction, shape, keys, seen, places=places)


def _places(shape: WriteSchema, seen: StatementSnapshot) -> DeletePlaces | None:
    """Return the partitions that can contain deleted rows; None for an unpartitioned table."""
    if not shape.table.partition_columns:
        return None
    return DeletePlaces.of(usual(shape.session, shape.table, seen.partitions(shape.table)))


def stage(
    transaction: TableWrite,
    shape: WriteSchema,
    events: DataFrame,
    target: Target,
    *,
    by_driver: bool,
) -> None:
    """Write events that all add rows to one target into staging; see ``write``.

    Args:
        transaction: the transaction.
        shape: write schema of the table.
        events: see ``write``.
        target: the target.
        by_driver: whether to try to write the events on the driver first.
    """
    events = _with_texts(shape, events)
    place = transaction.staging, shape.table, transaction.write_id
    if not by_driver or stage_on_driver(events, *place, [target]) is None:
        write_events(events, *place, [target], target.name)


def _with_texts(shape: WriteSchema, events: DataFrame) -> DataFrame:
    """Replace the partition values of events with their texts."""
    texts = {**shape.texts(part_columns(shape.table)), **shape.old_texts()}
    return events.withColumns({n: F.expr(t) for n, t in texts.items()}) if texts else events


def finish(
    transaction: TableWrite,
    shape: WriteSchema,
    keys: Keys | None = None,
    seen: StatementSnapshot | None = None,
    duplicate_keys: DuplicateKeys = DuplicateKeys.NEVER,
    places: DeletePlaces | None = None,
) -> WriteResult:
    """Finalise the contents of staging and publish the directories.

    Args:
        transaction: the transaction.
        shape: write schema of the table.
        keys: delete keys that the driver collected; see ``finalize_deletes.finalize``.
        seen: snapshot that a statement that deletes rows has read.
        duplicate_keys: see ``write``.
        places: partitions of staged delete events; see ``write_events``.
    """
    with phase(Phase.PUBLISH):
        return _finish(transaction, shape, keys, seen, duplicate_keys, places)


def _finish(
    transaction: TableWrite,
    shape: WriteSchema,
    keys: Keys | None,
    seen: StatementSnapshot | None,
    duplicate_keys: DuplicateKeys,
    places: DeletePlaces | None,
) -> WriteResult:
    if shape.table.insert_only:
        plain = finalize_insert_only(transaction.session, shape.table, transaction.staging)
        transaction.publish(plain)
        return WriteResult(finished=tuple(plain))
    staging = Staging(
        files=transaction.session.files,
        place=transaction.staging,
        table=shape.table,
        row=shape.row,
        write_id=transaction.write_id,
        duplicate_keys=duplicate_keys,
        places=places,
        first_statement_id=transaction.statement_id(0),
    )
    reach(Point.BEFORE_MERGING_EVENTS, staging)
    finished = finalize(staging, keys)
    if seen is not None and shape.table.partition_columns:
        finished = _where_rows_lie(shape, seen, finished)
    transaction.publish(finished)
    return WriteResult(finished=tuple(finished))


def _where_rows_lie(
    shape: WriteSchema, seen: StatementSnapshot, finished: Sequence[FinishedDirectory]
) -> list[FinishedDirectory]:
    """Replace the partition values of directories with their spelling in the metastore."""
    partitions = seen.partitions(shape.table)
    deleted = {s.values for s in finished if s.deletes}
    spelled = as_spelled(shape.session, shape.table, partitions, deleted)
    return [replace(s, values=spelled.get(s.values, s.values)) for s in finished]
