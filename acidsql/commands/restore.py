"""RESTORE and UNDO WRITE: bring back an older version of the rows, or undo one write.

Both are new writes, which contain only the difference to the current rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.commands import events, result, write_schema
from acidsql.commands.write_schema import WriteSchema
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import parse_directory
from acidsql.format.version_difference import Lost, is_replaced_after
from acidsql.insert_only.write import refuse_row_changes
from acidsql.limits import limits
from acidsql.metastore.history import COMPACT, HistoryEntry, RecordedStatement, WriteCounts
from acidsql.metastore.model import Operation, Table, TxnState
from acidsql.metastore.moments import (
    BeforeWriteMoment,
    Moment,
    TimeMoment,
    WriteIdMoment,
)
from acidsql.metastore.version_failures import history_not_available
from acidsql.planning.as_of import moment_of_version
from acidsql.planning.changes_since import committed_since
from acidsql.planning.statement import StatementSnapshot
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.scan.snapshot import TableSnapshot
from acidsql.scan.version_difference import Versions
from acidsql.schema.acid_file import ROW_ID_COLUMN
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import Phase, phase
from acidsql.storage.staging import named_sql
from acidsql.syntax.lexer import quote, unquote_string
from acidsql.syntax.maintenance_statements import Restore, UndoWrite
from acidsql.transactions.write_intent import restore_intent
from acidsql.transactions.write_transaction import Change, TableWrite, write_transaction

RESTORE = "RESTORE"
UNDO = "UNDO WRITE"


def restore(session: AcidSession, table: Table, statement: Restore) -> DataFrame:
    """Run RESTORE: delete rows that were added since a version, and insert rows that were removed.

    The inserted rows are new rows. If no other transaction has written since the version, RESTORE
    writes nothing.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE; the errors of reading the version.
    """
    refuse_row_changes(table, RESTORE)
    moment = moment_of(session, table, statement)
    if _is_newest(session, table, moment):
        return _counts(session, deleted=0, inserted=0)
    recorded = RecordedStatement(operation=RESTORE, text=statement.text)
    with write_transaction(session, restore_intent(table, recorded)) as transaction:
        shape = write_schema.write_schema_of(session, transaction.table)
        seen = events.snapshot_of(transaction)
        with phase(Phase.PLAN):
            staged = restore_events(shape, seen, moment)
        return _write(transaction, shape, seen, staged)


def restore_events(shape: WriteSchema, seen: StatementSnapshot, moment: Moment) -> DataFrame | None:
    """Plan the events of a RESTORE.

    Returns:
        None if the names of directories show that the versions do not differ.
    """
    new, old = seen.snapshot(shape.table), _as_of(seen, shape.table, moment)
    versions = Versions(session=shape.session, old=old, new=new, records=seen.scans)
    return _events(shape, versions.later_rows(), versions.lost_rows())


def undo_write(session: AcidSession, table: Table, statement: UndoWrite) -> DataFrame:
    """Run UNDO WRITE: delete the rows that a write inserted, and insert the rows that it deleted.

    Raises:
        AcidAnalysisError: UNDO_CONFLICT, another write has since changed rows of the write;
            UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE; the errors of reading the versions before and
            after the write.
    """
    write_id = statement.write_id
    check_undo(table, write_id, latest_snapshot(session))
    recorded = RecordedStatement(operation=undo_of(write_id), text=statement.text)
    with write_transaction(session, restore_intent(table, recorded)) as transaction:
        shape = write_schema.write_schema_of(session, transaction.table)
        seen = events.snapshot_of(transaction)
        with phase(Phase.PLAN):
            planned = plan_undo(shape, seen, write_id)
        _check_rows_are_there(session, transaction.table, write_id, planned.changed_later)
        return _write(transaction, shape, seen, planned.events)


def check_undo(table: Table, write_id: int, latest: StatementSnapshot) -> None:
    """Check that a table has row ids, and the versions before and after a write.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE; see ``Metastore.find_version``.
    """
    refuse_row_changes(table, UNDO)
    for moment in _moments_around(write_id):
        latest.versions.held(replace(table, as_of=moment), None)


def _moments_around(write_id: int) -> tuple[BeforeWriteMoment, WriteIdMoment]:
    return BeforeWriteMoment(write_id=write_id), WriteIdMoment(write_id=write_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedUndo:
    """Plans of an UNDO WRITE.

    Attributes:
        changed_later: rows that the write inserted and that later writes have deleted or updated;
            any of these rows prevents the UNDO. None if the names of directories show that no
            later write changed rows.
        events: events of the UNDO; None without events.
    """

    changed_later: DataFrame | None
    events: DataFrame | None


def plan_undo(shape: WriteSchema, seen: StatementSnapshot, write_id: int) -> PlannedUndo:
    """Plan an UNDO WRITE.

    Raises:
        AcidAnalysisError: UNDO_CONFLICT, the metastore or the names of directories show a
            conflict; HISTORY_NOT_AVAILABLE; see ``check_undo``.
    """
    session, table = shape.session, shape.table
    _check_is_done(session, table, write_id)
    before, at = _moments_around(write_id)
    now = seen.snapshot(table)
    first, then = _as_of(seen, table, before), _as_of(seen, table, at)
    of_write = Versions(session=session, old=first, new=then, records=seen.scans)
    if Lost.ALL in of_write.ways_of_loss():
        why = "a compaction since has merged rows, and who wrote them cannot be determined"
        raise history_not_available(table.full_name, before, why, None)
    again = of_write.lost_rows()
    _check_is_untouched(session, table, write_id, of_write, now)
    since = Versions(session=session, old=then, new=now, records=seen.scans)
    whole = Versions(session=session, old=first, new=now, records=seen.scans)
    return PlannedUndo(
        changed_later=since.lost_rows(write_id),
        events=_events(shape, whole.later_rows(write_id), again),
    )


def moment_of(session: AcidSession, table: Table, statement: Restore) -> Moment:
    """Return the moment that a RESTORE names.

    Raises:
        AcidAnalysisError: VERSION_NOT_FOUND, the text after VERSION AS OF is not a version.
        AnalysisException: the expression after TIMESTAMP AS OF is not a timestamp.
        ParseException: the text after TIMESTAMP AS OF is not an expression.
    """
    if statement.timestamp is not None:
        text = statement.timestamp.of(statement.text)
        return TimeMoment(microseconds=bridge.timestamp_of_text(session.spark, text))
    assert statement.version is not None
    text = statement.version.of(statement.text).strip()
    if text[:1] in "'\"":
        text = unquote_string(text)
    return moment_of_version(table.full_name, text)


def _is_newest(session: AcidSession, table: Table, moment: Moment) -> bool:
    """Return whether no write has been committed since a moment.

    Raises:
        AcidAnalysisError: see ``Metastore.find_version``.
    """
    latest = latest_snapshot(session)
    held = latest.versions.held(replace(table, as_of=moment), None)
    assert held is not None
    now = session.metastore.valid_write_ids(table.database, table.name, latest.txns)
    return not committed_since(held.version.write_ids, now)


def _as_of(seen: StatementSnapshot, table: Table, moment: Moment) -> TableSnapshot:
    # Read the old version with the current columns. Columns that were added since are NULL, even if
    # they are NOT NULL.
    columns = tuple(replace(column, nullable=True) for column in table.columns)
    return seen.snapshot(replace(table, as_of=moment, columns=columns))


def _events(
    shape: WriteSchema, gone: DataFrame | None, again: DataFrame | None
) -> DataFrame | None:
    """Build the events that delete some rows and insert others; return None without events.

    Args:
        shape: write schema of the table.
        gone: rows to delete, or None.
        again: rows to insert, or None.

    Raises:
        AcidAnalysisError: NOT_NULL_CONSTRAINT_VIOLATION.
    """
    inserts = None
    if again is not None:
        _check_no_nulls(shape, again)
        inserts = events.insert_events(shape, _table_columns(shape, again))
    if gone is None:
        return inserts
    deletes = _deletes(shape, gone)
    return deletes if inserts is None else deletes.unionByName(inserts)


def _write(
    transaction: TableWrite,
    shape: WriteSchema,
    seen: StatementSnapshot,
    staged: DataFrame | None,
) -> DataFrame:
    """Write events, commit, and return one row of counts.

    Args:
        transaction: the transaction.
        shape: write schema of the table.
        seen: snapshot that the statement reads.
        staged: the events, or None.
    """
    deleted = inserted = 0
    changed: list[Change] = []
    if staged is not None:
        outcome = events.write(transaction, shape, staged, inserting=[0], seen=seen)
        deleted, inserted = outcome.events(deletes=True), outcome.events(deletes=False)
        changed = [
            outcome.changed(Operation.UPDATE, deletes=True),
            outcome.changed(Operation.INSERT, deletes=False),
        ]
    transaction.commit(changed, WriteCounts(inserted=inserted, deleted=deleted))
    return _counts(transaction.session, deleted=deleted, inserted=inserted)


def _deletes(shape: WriteSchema, rows: DataFrame) -> DataFrame:
    event = events.delete_event(shape, 0, ROW_ID_COLUMN, shape.current_parts())
    return bridge.select(rows, *named_sql(event))


def _check_no_nulls(shape: WriteSchema, rows: DataFrame) -> None:
    """Refuse rows with NULL in a NOT NULL column.

    The column became NOT NULL, or was added, after the rows were removed.

    Raises:
        AcidAnalysisError: NOT_NULL_CONSTRAINT_VIOLATION.
    """
    required = [quote(c.name) for c in shape.table.columns if not c.nullable]
    if not required:
        return
    missing = [f"{name} IS NULL" for name in required]
    job = f"{RESTORE} {shape.table.full_name} (NOT NULL)"
    with phase(Phase.EXECUTE), bridge.job_description(shape.session.spark, job):
        violating = rows.where(" OR ".join(missing)).select(*required).limit(1).collect()
    if violating:
        name = next(c for c, value in zip(required, violating[0], strict=True) if value is None)
        raise AcidAnalysisError(
            "NOT_NULL_CONSTRAINT_VIOLATION",
            f"rows that would come back have NULL in the column {name} of "
            f"{shape.table.full_name}, which is NOT NULL since: ALTER COLUMN {name} DROP NOT NULL "
            "first",
        )


def _table_columns(shape: WriteSchema, rows: DataFrame) -> DataFrame:
    """Return rows of a scan without their row ids."""
    names = [*shape.data.names, *shape.partitions.names]
    return bridge.select(rows, *map(quote, names))


def _counts(session: AcidSession, *, deleted: int, inserted: int) -> DataFrame:
    return result.counts(
        session.spark, affected=deleted + inserted, deleted=deleted, inserted=inserted
    )


def undo_of(write_id: int) -> str:
    """Return the name of an UNDO WRITE in the table's history."""
    return f"{UNDO} {write_id}"


def _check_is_done(session: AcidSession, table: Table, write_id: int) -> None:
    """Check in the metastore that a write has not been undone already.

    If it has, the rows that it deleted exist again with other row ids.

    Raises:
        AcidAnalysisError: UNDO_CONFLICT.
    """
    entries = session.metastore.history(table.database, table.name, None)
    by = taken_back_by(write_id, entries)
    if by is not None:
        raise _conflict(
            table,
            write_id,
            f"write id {by.write_id} ({by.operation}) has brought rows back since",
        )


def taken_back_by(write_id: int, entries: Sequence[HistoryEntry]) -> HistoryEntry | None:
    """Return the committed RESTORE or UNDO WRITE that may have undone a write, or None.

    An entry that was itself undone does not count.

    Args:
        write_id: write id of the write.
        entries: history of the table.
    """
    for entry in entries:
        is_later = entry.write_id > write_id and entry.state is TxnState.COMMITTED
        if entry.operation == COMPACT or not is_later:
            continue
        can_undo = entry.operation in (RESTORE, undo_of(write_id))
        if can_undo and taken_back_by(entry.write_id, entries) is None:
            return entry
    return None


def _check_is_untouched(
    session: AcidSession, table: Table, write_id: int, of_write: Versions, now: TableSnapshot
) -> None:
    """Check that no later write has replaced all rows of a partition that a write changed.

    Raises:
        AcidAnalysisError: UNDO_CONFLICT.
    """
    for _, new in of_write.pairs():
        earlier = (d for d in new.state.directories if d.min_write_id <= write_id)
        if not any(d.max_write_id >= write_id for d in earlier):
            continue
        present = map(parse_directory, session.files.names(new.location))
        replaced = [d for d in present if d and is_replaced_after(d, write_id, now.write_ids)]
        if replaced:
            where = f"partition {table.partition_name(new.values)}" if new.values else "the table"
            later = max(d.max_write_id for d in replaced)
            raise _conflict(table, write_id, f"write id {later} has replaced all rows of {where}")


def _check_rows_are_there(
    session: AcidSession, table: Table, write_id: int, lost: DataFrame | None
) -> None:
    """Check that no row that a write inserted has been deleted or updated since.

    Raises:
        AcidAnalysisError: UNDO_CONFLICT, with the first row ids of the changed rows.
    """
    if lost is None:
        return
    most = limits().named_rows
    job = f"{UNDO} {write_id} OF {table.full_name} (conflicts)"
    with phase(Phase.EXECUTE), bridge.job_description(session.spark, job):
        changed = bridge.select(lost, f"{ROW_ID_COLUMN} AS id").limit(most + 1).collect()
    if changed:
        ids = sorted(tuple(row.id) for row in changed)
        named = ", ".join(_spelled(*one) for one in ids[:most])
        more = " and others" if len(ids) > most else ""
        raise _conflict(
            table, write_id, f"rows that it wrote were changed later: row__id {named}{more}"
        )


def _spelled(write_id: int, bucket: int, row_id: int) -> str:
    return f'{{"writeid":{write_id},"bucketid":{bucket},"rowid":{row_id}}}'


def _conflict(table: Table, write_id: int, why: str) -> AcidAnalysisError:
    return AcidAnalysisError(
        "UNDO_CONFLICT",
        f"write id {write_id} of {table.full_name} cannot be taken back, because {why}: undo the "
        "later writes first, the newest first, or RESTORE the table to an older version",
        {"tableName": table.full_name, "writeId": str(write_id)},
    )
