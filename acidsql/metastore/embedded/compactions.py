"""Compaction queue of the embedded metastore, and its history.

INITIATED ─▶ WORKING ─▶ READY_FOR_CLEANING ─▶ SUCCEEDED
    │           │
    └▶ ABORTED  └─▶ FAILED or REFUSED, or INITIATED again
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import replace

from acidsql.errors import AcidLookupError, TransactionStateError
from acidsql.format.valid_lists import compactor_write_ids
from acidsql.metastore.embedded import catalog
from acidsql.metastore.embedded.transactions import (
    AbortCause,
    highest_txn_id,
    lowest_open_txn_id,
    require_open,
    state_of,
    valid_txns,
)
from acidsql.metastore.embedded.write_ids import valid_write_ids
from acidsql.metastore.model import (
    Compaction,
    CompactionOptions,
    CompactionState,
    CompactionType,
    TxnState,
    WorkerLimits,
)
from acidsql.metastore.names import partition_name

# Number of history entries that are retained per table or partition and state, as in
# hive.compactor.history.retention.*.
HISTORY_RETENTION = 3
# An entry goes back to the queue if its worker has ended, until it was attempted this often. The
# compaction itself may be what ends the worker, for example because memory runs out.
MOST_ATTEMPTS = 3

_SELECT = (
    "SELECT compactions.*, tables.database_name, tables.table_name FROM compactions"
    " JOIN tables ON tables.table_id = compactions.table_id"
)


def request(
    connection: sqlite3.Connection,
    database: str,
    table: str,
    partition: str | None,
    compaction_type: CompactionType,
    options: CompactionOptions,
    now: float,
) -> Compaction:
    """Add a compaction to the queue (``Metastore.request_compaction``).

    The queue does not store a refused request. The result then has the id of the existing entry
    that is the reason. An entry that waits for the cleaner is a reason if nothing was written since
    and its compaction did at least what is requested. (CompactFunction also refuses a major
    compaction after a minor one.)
    """
    table_id = catalog.table_id(connection, database, table)
    partition = partition_name(partition)
    txns = valid_txns(connection, None)
    compactable = compactor_write_ids(valid_write_ids(connection, database, table, txns))
    rows = connection.execute(
        f"{_SELECT} WHERE compactions.table_id = ? AND partition_name IS ? AND state IN (?, ?, ?)"
        " ORDER BY compaction_id",
        (
            table_id,
            partition,
            CompactionState.INITIATED.value,
            CompactionState.WORKING.value,
            CompactionState.READY_FOR_CLEANING.value,
        ),
    )
    for existing in map(_compaction_of, rows):
        if existing.state is CompactionState.READY_FOR_CLEANING and (
            existing.highest_write_id != compactable.high_water_mark
            or existing.type not in (CompactionType.MAJOR, compaction_type)
        ):
            continue
        return replace(
            existing,
            type=compaction_type,
            state=CompactionState.REFUSED,
            error=f"Compaction is already scheduled with state='{existing.state.value}' "
            f"and id={existing.compaction_id}",
        )
    cursor = connection.execute(
        "INSERT INTO compactions"
        " (table_id, partition_name, type, state, enqueued, size, pool, order_by, buckets)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            table_id,
            partition,
            compaction_type.value,
            CompactionState.INITIATED.value,
            now,
            options.size,
            options.pool,
            options.order_by,
            options.buckets,
        ),
    )
    return _get(connection, int(cursor.lastrowid or 0))


def request_cleanup(
    connection: sqlite3.Connection, database: str, table: str, partition: str | None, now: float
) -> Compaction:
    """Add an entry that waits for the cleaner, or return the existing one.

    See ``Metastore.request_cleanup``.
    """
    table_id = catalog.table_id(connection, database, table)
    partition = partition_name(partition)
    state = CompactionState.READY_FOR_CLEANING.value
    next_txn_id = highest_txn_id(connection) + 1
    waiting = connection.execute(
        "SELECT compaction_id FROM compactions WHERE table_id = ? AND partition_name IS ?"
        " AND state = ? AND next_txn_id >= ?",
        (table_id, partition, state, next_txn_id),
    ).fetchone()
    if waiting is not None:
        return _get(connection, waiting[0])
    cursor = connection.execute(
        "INSERT INTO compactions"
        " (table_id, partition_name, type, state, enqueued, done, next_txn_id)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (table_id, partition, CompactionType.CLEANUP.value, state, now, now, next_txn_id),
    )
    return _get(connection, int(cursor.lastrowid or 0))


def take_next(
    connection: sqlite3.Connection,
    worker: str,
    compaction_id: int | None,
    chosen: WorkerLimits,
    now: float,
    client: str,
) -> Compaction | None:
    """Take an INITIATED entry for a client (``Metastore.next_compaction``).

    None if the queue does not contain the entry, or if it is not INITIATED.
    """
    working = connection.execute(
        "SELECT coalesce(sum(size), 0) FROM compactions WHERE state = ?",
        (CompactionState.WORKING.value,),
    ).fetchone()[0]
    free = None if chosen.most_bytes is None else chosen.most_bytes - working
    row = connection.execute(
        "SELECT compaction_id FROM compactions WHERE state = ?"
        " AND (compaction_id = ? OR (? IS NULL AND pool IS ?"
        " AND (? IS NULL OR coalesce(size, 0) <= ?)))"
        " ORDER BY compaction_id LIMIT 1",
        (CompactionState.INITIATED.value, compaction_id, compaction_id, chosen.pool, free, free),
    ).fetchone()
    if row is None:
        return None
    connection.execute(
        "UPDATE compactions SET state = ?, worker = ?, started = ?, client = ?,"
        " attempts = attempts + 1 WHERE compaction_id = ?",
        (CompactionState.WORKING.value, worker, now, client, row[0]),
    )
    return _get(connection, row[0])


def given_back(connection: sqlite3.Connection, compaction_id: int) -> None:
    """Return an entry to the queue (``Metastore.compaction_given_back``)."""
    # The entry is FAILED if the abort of the worker's transaction came first.
    _require(connection, compaction_id, CompactionState.WORKING, CompactionState.FAILED)
    _to_queue(connection, compaction_id)


def abort(connection: sqlite3.Connection, compaction_id: int, now: float) -> Compaction:
    """Remove an INITIATED entry from the queue (``Metastore.abort_compaction``)."""
    entry = _get(connection, compaction_id)
    if entry.state is CompactionState.INITIATED:
        _end(connection, compaction_id, CompactionState.ABORTED, None, now)
        entry = replace(entry, state=CompactionState.ABORTED, ended=int(now))
    return entry


def started(
    connection: sqlite3.Connection, compaction_id: int, txn_id: int, highest_write_id: int
) -> None:
    """Record the compactor's transaction of an entry (``Metastore.compaction_started``)."""
    _require(connection, compaction_id, CompactionState.WORKING)
    require_open(connection, txn_id)
    connection.execute(
        "UPDATE compactions SET txn_id = ?, highest_write_id = ? WHERE compaction_id = ?",
        (txn_id, highest_write_id, compaction_id),
    )


def done(connection: sqlite3.Connection, compaction_id: int, now: float) -> None:
    """Mark an entry as ready for cleaning (``Metastore.compaction_done``)."""
    entry = _require(connection, compaction_id, CompactionState.WORKING)
    visible = entry.txn_id is None or state_of(connection, entry.txn_id) is TxnState.COMMITTED
    connection.execute(
        "UPDATE compactions SET state = ?, next_txn_id = ?, done = ? WHERE compaction_id = ?",
        (
            CompactionState.READY_FOR_CLEANING.value,
            highest_txn_id(connection) + 1 if visible else None,
            now if visible else None,
            compaction_id,
        ),
    )


def failed(connection: sqlite3.Connection, compaction_id: int, error: str, now: float) -> None:
    """Mark an entry as failed (``Metastore.compaction_failed``).

    If an abort has already made the entry fail, it gets the new error.
    """
    _require(connection, compaction_id, CompactionState.WORKING, CompactionState.FAILED)
    _end(connection, compaction_id, CompactionState.FAILED, error, now)


def refused(connection: sqlite3.Connection, compaction_id: int, reason: str, now: float) -> None:
    """Mark an entry as refused (``Metastore.compaction_refused``)."""
    _require(connection, compaction_id, CompactionState.WORKING)
    _end(connection, compaction_id, CompactionState.REFUSED, reason, now)


def cleaned(connection: sqlite3.Connection, compaction_id: int, now: float) -> Compaction:
    """Mark an entry as succeeded and return it (``Metastore.compaction_cleaned``).

    The caller forgets the aborted transactions.
    """
    entry = _require(connection, compaction_id, CompactionState.READY_FOR_CLEANING)
    _end(connection, compaction_id, CompactionState.SUCCEEDED, None, now)
    return entry


def ready_to_clean(connection: sqlite3.Connection) -> tuple[Compaction, ...]:
    """List the entries that may be cleaned (``Metastore.ready_to_clean``)."""
    rows = connection.execute(
        f"{_SELECT} WHERE state = ? AND next_txn_id <= ? ORDER BY compaction_id",
        (CompactionState.READY_FOR_CLEANING.value, lowest_open_txn_id(connection)),
    )
    return tuple(_compaction_of(row) for row in rows)


def compactions(connection: sqlite3.Connection) -> tuple[Compaction, ...]:
    """List the queue and its history, newest first (``Metastore.compactions``)."""
    rows = connection.execute(f"{_SELECT} ORDER BY compaction_id DESC")
    return tuple(_compaction_of(row) for row in rows)


def compactions_of(
    connection: sqlite3.Connection, database: str, table: str, partition: str | None
) -> tuple[Compaction, ...]:
    """List the entries of a partition, newest first (``Metastore.compactions_of``)."""
    rows = connection.execute(
        f"{_SELECT} WHERE compactions.table_id = ? AND partition_name IS ?"
        " ORDER BY compaction_id DESC",
        (catalog.table_id(connection, database, table), partition_name(partition)),
    )
    return tuple(_compaction_of(row) for row in rows)


def txn_committed(connection: sqlite3.Connection, txn_id: int, now: float) -> None:
    """Set ``next_txn_id`` and ``done`` of a finished compaction.

    Transactions that are opened from now on read its output.
    """
    connection.execute(
        "UPDATE compactions SET next_txn_id = ?, done = ? WHERE txn_id = ? AND state = ?",
        (highest_txn_id(connection) + 1, now, txn_id, CompactionState.READY_FOR_CLEANING.value),
    )


def txn_aborted(connection: sqlite3.Connection, txn_id: int, cause: AbortCause, now: float) -> None:
    """End the entries of an aborted compactor, whose output never becomes visible.

    If the compactor has ended, its entry goes back to the queue, unless it was attempted
    ``MOST_ATTEMPTS`` times. Otherwise the entry fails.
    """
    rows = connection.execute(
        "SELECT compaction_id, attempts FROM compactions WHERE txn_id = ? AND state IN (?, ?)",
        (txn_id, CompactionState.WORKING.value, CompactionState.READY_FOR_CLEANING.value),
    ).fetchall()
    is_gone = cause in (AbortCause.CLIENT_ENDED, AbortCause.TIMEOUT)
    for compaction_id, attempts in rows:
        if is_gone and attempts < MOST_ATTEMPTS:
            _to_queue(connection, compaction_id)
        else:
            error = f"the compactor's transaction {txn_id} was aborted: {cause.value}"
            _end(connection, compaction_id, CompactionState.FAILED, error, now)


def give_back(
    connection: sqlite3.Connection, started_before: float, ended: Collection[str]
) -> None:
    """Return entries to the queue that a worker took and did not begin.

    The worker has timed out, as in Hive's revokeTimedoutWorkers, or its client has ended.
    """
    connection.execute(
        "UPDATE compactions SET state = ?, worker = NULL, started = NULL, client = NULL"
        " WHERE state = ? AND txn_id IS NULL"
        f" AND (started < ? OR client IN ({', '.join('?' * len(ended))}))",
        (CompactionState.INITIATED.value, CompactionState.WORKING.value, started_before, *ended),
    )


def _to_queue(connection: sqlite3.Connection, compaction_id: int) -> None:
    connection.execute(
        "UPDATE compactions SET state = ?, worker = NULL, started = NULL, client = NULL,"
        " txn_id = NULL, next_txn_id = NULL, highest_write_id = NULL, ended = NULL, error = NULL"
        " WHERE compaction_id = ?",
        (CompactionState.INITIATED.value, compaction_id),
    )


def _get(connection: sqlite3.Connection, compaction_id: int) -> Compaction:
    row = connection.execute(f"{_SELECT} WHERE compaction_id = ?", (compaction_id,)).fetchone()
    if row is None:
        raise AcidLookupError(
            "COMPACTION_NOT_FOUND",
            f"the queue has no compaction {compaction_id}; see SHOW COMPACTIONS",
        )
    return _compaction_of(row)


def _require(
    connection: sqlite3.Connection, compaction_id: int, *states: CompactionState
) -> Compaction:
    entry = _get(connection, compaction_id)
    if entry.state not in states:
        because = "" if entry.error is None else f" ({entry.error})"
        raise TransactionStateError(
            "COMPACTION_STATE_CHANGED",
            f"compaction {compaction_id} is in state '{entry.state.value}'{because}, not "
            f"'{states[0].value}'; request the compaction again if it is still wanted",
        )
    return entry


def _end(
    connection: sqlite3.Connection,
    compaction_id: int,
    state: CompactionState,
    error: str | None,
    now: float,
) -> None:
    connection.execute(
        "UPDATE compactions SET state = ?, error = ?, ended = ? WHERE compaction_id = ?",
        (state.value, error, now, compaction_id),
    )
    connection.execute(
        """
        DELETE FROM compactions WHERE compaction_id IN (
            SELECT old.compaction_id
            FROM compactions AS old
            JOIN compactions AS new ON new.table_id = old.table_id
             AND new.partition_name IS old.partition_name AND new.state = old.state
            WHERE new.compaction_id = ?
            ORDER BY old.compaction_id DESC LIMIT -1 OFFSET ?
        )
        """,
        (compaction_id, HISTORY_RETENTION),
    )


def _compaction_of(row: sqlite3.Row) -> Compaction:
    return Compaction(
        compaction_id=row["compaction_id"],
        database=row["database_name"],
        table=row["table_name"],
        partition=row["partition_name"],
        type=CompactionType(row["type"]),
        state=CompactionState(row["state"]),
        worker=row["worker"],
        enqueued=int(row["enqueued"]),
        started=_seconds(row["started"]),
        ended=_seconds(row["ended"]),
        txn_id=row["txn_id"],
        next_txn_id=row["next_txn_id"],
        highest_write_id=row["highest_write_id"],
        error=row["error"],
        done=_seconds(row["done"]),
        size=row["size"],
        pool=row["pool"],
        order_by=row["order_by"],
        buckets=row["buckets"],
    )


def _seconds(value: float | None) -> int | None:
    return None if value is None else int(value)
