"""Transactions of the embedded metastore: opening, heartbeats, states and snapshots.

``commit_abort`` ends them.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from enum import StrEnum

from acidsql.errors import TransactionStateError
from acidsql.format.valid_lists import ValidTxnList
from acidsql.metastore import failures
from acidsql.metastore.model import CompactionState, TxnInfo, TxnState, TxnType


class AbortCause(StrEnum):
    """Cause of an abort, as a clause that follows "was aborted:"."""

    CLIENT = "it was rolled back"
    KILLED = "somebody aborted it"
    CONFLICT = "another transaction had committed a conflicting change"
    TIMEOUT = "it sent no heartbeat within the time-out"
    CLIENT_ENDED = "the process that ran it had ended"
    TABLE_DROPPED = "a table that it was writing or waiting for was dropped"


def open_txn(
    connection: sqlite3.Connection, user: str, host: str, txn_type: TxnType, now: float, client: str
) -> int:
    """Open a transaction (``Metastore.open_txn``); the caller reaps first."""
    cursor = connection.execute(
        "INSERT INTO txns (state, type, user, host, started, last_heartbeat, client)"
        " VALUES (?, ?, ?, ?, ?, ?, ?)",
        (TxnState.OPEN.value, txn_type.value, user, host, now, now, client),
    )
    return int(cursor.lastrowid or 0)


def seed_txn_id(connection: sqlite3.Connection, next_txn_id: int) -> int:
    """Raise the next transaction id to at least ``next_txn_id``; skipped ids count as committed.

    Returns:
        The highest transaction id that was allocated before.
    """
    before = highest_txn_id(connection)
    if highest_txn_id(connection) == 0:
        connection.execute("DELETE FROM sqlite_sequence WHERE name = 'txns'")
        connection.execute("INSERT INTO sqlite_sequence (name, seq) VALUES ('txns', 0)")
    connection.execute(
        "UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = 'txns'", (next_txn_id - 1,)
    )
    return before


def highest_txn_id(connection: sqlite3.Connection) -> int:
    """Return the highest allocated transaction id, 0 before the first one."""
    row = connection.execute("SELECT seq FROM sqlite_sequence WHERE name = 'txns'").fetchone()
    return 0 if row is None else int(row[0])


def lowest_open_txn_id(connection: sqlite3.Connection) -> int:
    """Return the lowest open transaction id, or the next id if no transaction is open."""
    row = connection.execute(
        "SELECT min(txn_id) FROM txns WHERE state = ?", (TxnState.OPEN.value,)
    ).fetchone()
    return highest_txn_id(connection) + 1 if row[0] is None else int(row[0])


def state_of(connection: sqlite3.Connection, txn_id: int) -> TxnState:
    """Return the state of a transaction, even if its row was pruned.

    Raises:
        TransactionStateError: NO_SUCH_TXN, the id was never allocated.
    """
    row = connection.execute("SELECT state FROM txns WHERE txn_id = ?", (txn_id,)).fetchone()
    if row is not None:
        return TxnState(row[0])
    if not 1 <= txn_id <= highest_txn_id(connection):
        raise failures.no_such_txn(txn_id)
    forgotten = connection.execute(
        "SELECT 1 FROM forgotten_aborts WHERE txn_id = ?", (txn_id,)
    ).fetchone()
    return TxnState.COMMITTED if forgotten is None else TxnState.ABORTED


def require_open(connection: sqlite3.Connection, txn_id: int) -> None:
    """Raise TXN_ABORTED, TXN_COMMITTED or NO_SUCH_TXN unless the transaction is open."""
    state = state_of(connection, txn_id)
    if state is TxnState.ABORTED:
        raise aborted_error(connection, txn_id)
    if state is TxnState.COMMITTED:
        raise failures.txn_committed(txn_id)


def aborted_error(connection: sqlite3.Connection, txn_id: int) -> TransactionStateError:
    """Return the error for an aborted transaction, with the cause."""
    return failures.txn_aborted(txn_id, abort_cause(connection, txn_id))


def abort_cause(connection: sqlite3.Connection, txn_id: int) -> str:
    """Return the cause of an abort, as a clause that follows "was aborted:"."""
    row = connection.execute("SELECT abort_cause FROM txns WHERE txn_id = ?", (txn_id,)).fetchone()
    return "long ago, and its files were removed" if row is None else str(row[0])


def heartbeat(
    connection: sqlite3.Connection, txn_ids: Sequence[int], now: float
) -> tuple[int, ...]:
    """Send heartbeats of transactions (``Metastore.heartbeat``)."""
    lost = []
    for txn_id in txn_ids:
        cursor = connection.execute(
            "UPDATE txns SET last_heartbeat = ? WHERE txn_id = ? AND state = ?",
            (now, txn_id, TxnState.OPEN.value),
        )
        if cursor.rowcount == 0:
            lost.append(txn_id)
    return tuple(lost)


def valid_txns(connection: sqlite3.Connection, txn_id: int | None) -> ValidTxnList:
    """Return the snapshot (``Metastore.valid_txns``, TxnCommonUtils.createValidReadTxnList)."""
    return ValidTxnList(
        high_water_mark=highest_txn_id(connection),
        open=_ids_in(connection, TxnState.OPEN) - {txn_id},
        aborted=_ids_in(connection, TxnState.ABORTED) - {txn_id},
    )


def open_txns(connection: sqlite3.Connection) -> tuple[TxnInfo, ...]:
    """List open and aborted transactions (``Metastore.open_txns``)."""
    rows = connection.execute(
        "SELECT * FROM txns WHERE state IN (?, ?) ORDER BY txn_id",
        (TxnState.OPEN.value, TxnState.ABORTED.value),
    )
    return tuple(
        TxnInfo(
            txn_id=row["txn_id"],
            state=TxnState(row["state"]),
            type=TxnType(row["type"]),
            user=row["user"],
            host=row["host"],
            started=int(row["started"]),
            last_heartbeat=int(row["last_heartbeat"]),
        )
        for row in rows
    )


def clients_at_work(connection: sqlite3.Connection) -> frozenset[str]:
    """Return the known clients with open transactions or with compactions in progress.

    The clients of transactions up to schema version 3 are unknown.
    """
    rows = connection.execute(
        "SELECT client FROM txns WHERE state = ? AND client IS NOT NULL"
        " UNION SELECT client FROM compactions WHERE state = ? AND client IS NOT NULL",
        (TxnState.OPEN.value, CompactionState.WORKING.value),
    )
    return frozenset(row[0] for row in rows)


def _ids_in(connection: sqlite3.Connection, state: TxnState) -> frozenset[int]:
    rows = connection.execute("SELECT txn_id FROM txns WHERE state = ?", (state.value,))
    return frozenset(row[0] for row in rows)
