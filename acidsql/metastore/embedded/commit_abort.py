"""Commit and abort of transactions in the embedded metastore, and removal of their rows.

The file retains the row of a committed transaction while an open transaction may conflict with it.
It retains the row of an aborted transaction until no directory name can contain its ids. Otherwise
readers would no longer find the transaction in a list, and treat the directory as committed.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterable, Sequence

from acidsql.errors import WriteConflictError
from acidsql.metastore import failures
from acidsql.metastore.catalog_changes import CatalogChange, DropTable
from acidsql.metastore.comparison import Compared
from acidsql.metastore.embedded import (
    candidates,
    catalog,
    catalog_changes,
    compactions,
    history,
    locks,
    write_ids,
    write_set,
)
from acidsql.metastore.embedded.transactions import (
    AbortCause,
    aborted_error,
    highest_txn_id,
    lowest_open_txn_id,
    state_of,
)
from acidsql.metastore.model import LockState, TxnState, TxnType

# After these causes the client writes nothing more, because it ended the transaction itself. In all
# other cases the client may still move a directory to its final place: it timed out, another
# process aborted its transaction, its table was dropped, or the process has ended but its JVM still
# runs. These write ids must never count as committed.
_CLIENT_HAS_STOPPED = (AbortCause.CLIENT.value, AbortCause.CONFLICT.value)


def commit(
    connection: sqlite3.Connection,
    txn_id: int,
    made: Sequence[CatalogChange],
    now: float,
    compared: Compared | None = None,
) -> WriteConflictError | None:
    """Commit a transaction (``Metastore.commit_txn``), or abort it and return its conflict.

    The caller has checked ``write_set.is_complete``, and raises the conflict after the abort is
    durable.
    """
    state = state_of(connection, txn_id)
    if state is TxnState.COMMITTED:
        return None
    if state is TxnState.ABORTED:
        raise aborted_error(connection, txn_id)
    conflict = write_set.conflict(connection, txn_id, compared)
    if conflict is not None:
        _abort(connection, txn_id, AbortCause.CONFLICT, now)
        return conflict
    for change in made:
        if isinstance(change, DropTable):
            dropped = catalog.table_id(connection, change.table.database, change.table.name)
            abort_users_of_dropped(connection, dropped, now, txn_id)
        catalog_changes.apply(connection, txn_id, change)
        history.record(connection, txn_id, change, now)
    connection.execute(
        "UPDATE txns SET state = ?, commit_id = ?, ended = ? WHERE txn_id = ?",
        (TxnState.COMMITTED.value, highest_txn_id(connection), now, txn_id),
    )
    write_ids.record_commit(connection, txn_id, now)
    candidates.add(connection, txn_id, now)
    locks.release(connection, txn_id)
    compactions.txn_committed(connection, txn_id, now)
    _prune_committed(connection, txn_id)
    return None


def abort(connection: sqlite3.Connection, txn_id: int, now: float) -> None:
    """Abort a transaction for its client (``Metastore.abort_txn``)."""
    _abort_unless_ended(connection, txn_id, AbortCause.CLIENT, now)


def kill(connection: sqlite3.Connection, txn_ids: Iterable[int], now: float) -> None:
    """Abort transactions of any client (``Metastore.abort_txns``)."""
    for txn_id in txn_ids:
        _abort_unless_ended(connection, txn_id, AbortCause.KILLED, now)


def expired(
    connection: sqlite3.Connection, heartbeat_before: float, ended: Collection[str]
) -> dict[int, AbortCause]:
    """Return the open transactions without a running client, with the cause for an abort.

    Args:
        connection: connection to the metastore's file.
        heartbeat_before: a last heartbeat before this time is too old.
        ended: clients whose processes have ended.
    """
    rows = connection.execute(
        "SELECT txn_id, client, last_heartbeat FROM txns WHERE state = ? ORDER BY txn_id",
        (TxnState.OPEN.value,),
    )
    return {
        txn_id: AbortCause.CLIENT_ENDED if client in ended else AbortCause.TIMEOUT
        for txn_id, client, last_heartbeat in rows
        if client in ended or last_heartbeat < heartbeat_before
    }


def reap(
    connection: sqlite3.Connection, timeout: float, now: float, ended: Collection[str]
) -> tuple[int, ...]:
    """Abort expired transactions (``Metastore.reap``, Hive's PerformTimeoutsFunction).

    It also returns the entries of ended workers to the queue, and forgets aborted transactions
    without write ids.
    """
    reaped = expired(connection, now - timeout, ended)
    for txn_id, cause in reaped.items():
        _abort(connection, txn_id, cause, now)
    compactions.give_back(connection, now - timeout, ended)
    _forget_aborts(connection, now - timeout)
    return tuple(reaped)


def abort_users_of_dropped(
    connection: sqlite3.Connection, table_id: int, now: float, dropping_txn_id: int | None = None
) -> None:
    """Abort the open transactions that wait for a lock on a dropped table or have a write id of it.

    The transaction that drops the table stays open. A new table of the same name may use the same
    directory. Rows that the other transactions still write there must not become rows of the new
    table.
    """
    rows = connection.execute(
        """
        SELECT txn_id FROM txns WHERE state = ? AND txn_id IS NOT ? AND (
            txn_id IN (SELECT txn_id FROM locks WHERE table_id = ? AND state = ?)
            OR txn_id IN (SELECT txn_id FROM write_ids WHERE table_id = ?))
        """,
        (
            TxnState.OPEN.value,
            dropping_txn_id,
            table_id,
            LockState.WAITING.value,
            table_id,
        ),
    ).fetchall()
    for row in rows:
        _abort(connection, row[0], AbortCause.TABLE_DROPPED, now)


def forget_cleaned(
    connection: sqlite3.Connection,
    table_id: int,
    partition: str | None,
    partitioned: bool,
    highest_write_id: int,
    kept: Sequence[tuple[int, int]] = (),
) -> None:
    """Forget the aborted writes to a table or partition whose directories a cleaner has removed.

    In a partitioned table, a write id is forgotten when every partition in the transaction's write
    set has been cleaned. Writers name a partition before they move anything into it, so a
    transaction that has named no partition has written nothing. A forgotten write id is no longer
    in snapshots, but stays in the history.

    Args:
        kept: ranges of the write ids of directories that may contain rows of aborted writes. Write
            ids in these ranges are not forgotten.
    """
    aborted = connection.execute(
        """
        SELECT txns.txn_id, write_ids.write_id
        FROM write_ids JOIN txns ON txns.txn_id = write_ids.txn_id
        WHERE write_ids.table_id = ? AND write_ids.write_id <= ? AND write_ids.cleaned = 0
          AND txns.state = ? AND txns.abort_cause IN (?, ?)
        """,
        (table_id, highest_write_id, TxnState.ABORTED.value, *_CLIENT_HAS_STOPPED),
    ).fetchall()
    for txn_id, write_id in aborted:
        if any(first <= write_id <= last for first, last in kept):
            continue
        if partitioned and not _cleaned_everywhere(connection, txn_id, table_id, partition):
            continue
        connection.execute(
            "UPDATE write_ids SET cleaned = 1 WHERE txn_id = ? AND table_id = ?",
            (txn_id, table_id),
        )


def _abort_unless_ended(
    connection: sqlite3.Connection, txn_id: int, cause: AbortCause, now: float
) -> None:
    state = state_of(connection, txn_id)
    if state is TxnState.COMMITTED:
        raise failures.txn_committed(txn_id)
    if state is TxnState.OPEN:
        _abort(connection, txn_id, cause, now)


def _abort(connection: sqlite3.Connection, txn_id: int, cause: AbortCause, now: float) -> None:
    connection.execute(
        "UPDATE txns SET state = ?, abort_cause = ?, ended = ? WHERE txn_id = ?",
        (TxnState.ABORTED.value, cause.value, now, txn_id),
    )
    write_ids.record_abort(connection, txn_id, now)
    candidates.add(connection, txn_id, now)
    locks.release(connection, txn_id)
    catalog.drop_created_by(connection, txn_id)
    compactions.txn_aborted(connection, txn_id, cause, now)


def _prune_committed(connection: sqlite3.Connection, txn_id: int) -> None:
    if not write_set.has_changes(connection, txn_id):
        connection.execute("DELETE FROM txns WHERE txn_id = ?", (txn_id,))
    # Every open or later transaction has an id above these commit ids, so none can conflict.
    connection.execute(
        "DELETE FROM txns WHERE state = ? AND commit_id < ?",
        (TxnState.COMMITTED.value, lowest_open_txn_id(connection)),
    )


def _cleaned_everywhere(
    connection: sqlite3.Connection, txn_id: int, table_id: int, partition: str | None
) -> bool:
    connection.execute(
        "DELETE FROM write_set WHERE txn_id = ? AND table_id = ? AND partition_name = ?",
        (txn_id, table_id, partition),
    )
    uncleaned = connection.execute(
        "SELECT 1 FROM write_set WHERE txn_id = ? AND table_id = ? AND placeholder = 0 LIMIT 1",
        (txn_id, table_id),
    ).fetchone()
    return uncleaned is None


def _forget_aborts(connection: sqlite3.Connection, ended_before: float) -> None:
    """Forget aborted transactions all of whose write ids are cleaned.

    No directory name contains their ids. A compactor has no write id either, but its directories
    have the id of its transaction in their names, so its transaction is never forgotten.
    """
    forgotten = connection.execute(
        """
        SELECT txn_id FROM txns
        WHERE state = ? AND ended < ? AND type <> ?
          AND NOT EXISTS (
              SELECT 1 FROM write_ids WHERE write_ids.txn_id = txns.txn_id AND cleaned = 0)
        """,
        (TxnState.ABORTED.value, ended_before, TxnType.COMPACTION.value),
    ).fetchall()
    for (txn_id,) in forgotten:
        connection.execute("INSERT INTO forgotten_aborts VALUES (?)", (txn_id,))
        connection.execute("DELETE FROM txns WHERE txn_id = ?", (txn_id,))
