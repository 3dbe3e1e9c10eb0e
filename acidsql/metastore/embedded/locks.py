"""Locks of the embedded metastore: first come, first served; a statement gets all or none.

A request waits for every earlier, incompatible lock of another transaction, including locks that
still wait (CheckLockFunction). It skips locks that wait for a lock of its own transaction, because
each transaction would otherwise wait for the other.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from acidsql.metastore.embedded import catalog, write_set
from acidsql.metastore.embedded.transactions import require_open
from acidsql.metastore.model import LockInfo, LockRequest, LockState, LockType, Operation
from acidsql.metastore.names import partition_name

# Types of existing locks for which a requested lock waits.
WAITS_FOR: dict[LockType, frozenset[LockType]] = {
    LockType.SHARED_READ: frozenset({LockType.EXCLUSIVE}),
    LockType.SHARED_WRITE: frozenset({LockType.EXCL_WRITE, LockType.EXCLUSIVE}),
    LockType.EXCL_WRITE: frozenset(
        {LockType.SHARED_WRITE, LockType.EXCL_WRITE, LockType.EXCLUSIVE}
    ),
    LockType.EXCLUSIVE: frozenset(LockType),
}

_LOCK_COLUMNS = """
    other.lock_id, other.txn_id, tables.database_name, tables.table_name, other.partition_name,
    other.type, other.state, other.acquired, txns.user, txns.host, txns.last_heartbeat
"""


def request(
    connection: sqlite3.Connection, txn_id: int, requests: Sequence[LockRequest], now: float
) -> LockState:
    """Request the locks of a statement (``Metastore.lock``); the caller reaps first."""
    require_open(connection, txn_id)
    for component in requests:
        table_id = catalog.table_id(connection, component.database, component.table)
        # A dynamic write can reach any partition, even if some partition columns have a value.
        partition = None if component.dynamic_partitions else partition_name(component.partition)
        connection.execute(
            "INSERT INTO locks (txn_id, table_id, partition_name, type, state)"
            " VALUES (?, ?, ?, ?, ?)",
            (
                txn_id,
                table_id,
                partition,
                component.type.value,
                LockState.WAITING.value,
            ),
        )
        if component.operation is not Operation.SELECT:
            write_set.enter(
                connection,
                txn_id,
                table_id,
                partition,
                component.operation,
                placeholder=component.dynamic_partitions,
                by_rows=component.type is LockType.SHARED_WRITE,
            )
    return check(connection, txn_id, now)


def check(connection: sqlite3.Connection, txn_id: int, now: float) -> LockState:
    """Grant a transaction's waiting locks if nothing blocks them (``Metastore.check_lock``)."""
    require_open(connection, txn_id)
    connection.execute("UPDATE txns SET last_heartbeat = ? WHERE txn_id = ?", (now, txn_id))
    if blockers(connection, txn_id):
        return LockState.WAITING
    connection.execute(
        "UPDATE locks SET state = ?, acquired = ? WHERE txn_id = ? AND state = ?",
        (LockState.ACQUIRED.value, now, txn_id, LockState.WAITING.value),
    )
    return LockState.ACQUIRED


def withdraw(connection: sqlite3.Connection, txn_id: int) -> None:
    """Withdraw the waiting requests of a transaction (``Metastore.withdraw_locks``)."""
    connection.execute(
        "DELETE FROM locks WHERE txn_id = ? AND state = ?", (txn_id, LockState.WAITING.value)
    )


def blockers(connection: sqlite3.Connection, txn_id: int) -> tuple[LockInfo, ...]:
    """List the locks that a transaction waits for (``Metastore.blockers``)."""
    rows = connection.execute(
        f"""
        SELECT mine.type AS wanted, {_LOCK_COLUMNS}
        FROM locks AS mine
        JOIN locks AS other
          ON other.table_id = mine.table_id AND other.lock_id < mine.lock_id
         AND other.txn_id <> mine.txn_id
         AND (mine.partition_name IS NULL OR other.partition_name IS NULL
              OR mine.partition_name = other.partition_name)
        JOIN tables ON tables.table_id = other.table_id
        JOIN txns ON txns.txn_id = other.txn_id
        WHERE mine.txn_id = ? AND mine.state = ?
        ORDER BY other.lock_id
        """,
        (txn_id, LockState.WAITING.value),
    )
    blocking = {
        row["lock_id"]: _lock_of(row)
        for row in rows
        if LockType(row["type"]) in WAITS_FOR[LockType(row["wanted"])]
    }
    behind = _waiting_behind(connection, txn_id) if blocking else frozenset()
    return tuple(
        lock
        for lock in blocking.values()
        if lock.state is LockState.ACQUIRED or lock.txn_id not in behind
    )


def _waiting_behind(connection: sqlite3.Connection, txn_id: int) -> frozenset[int]:
    """Return the transactions that wait for locks which a transaction holds."""
    rows = connection.execute(
        """
        SELECT other.txn_id, other.type AS wanted, mine.type AS held
        FROM locks AS mine
        JOIN locks AS other
          ON other.table_id = mine.table_id AND other.lock_id > mine.lock_id
         AND other.txn_id <> mine.txn_id
         AND (mine.partition_name IS NULL OR other.partition_name IS NULL
              OR mine.partition_name = other.partition_name)
        WHERE mine.txn_id = ? AND mine.state = ? AND other.state = ?
        """,
        (txn_id, LockState.ACQUIRED.value, LockState.WAITING.value),
    )
    return frozenset(
        row["txn_id"] for row in rows if LockType(row["held"]) in WAITS_FOR[LockType(row["wanted"])]
    )


def locks(connection: sqlite3.Connection) -> tuple[LockInfo, ...]:
    """List all locks (``Metastore.locks``)."""
    rows = connection.execute(
        f"""
        SELECT {_LOCK_COLUMNS}
        FROM locks AS other
        JOIN tables ON tables.table_id = other.table_id
        JOIN txns ON txns.txn_id = other.txn_id
        ORDER BY other.lock_id
        """
    )
    return tuple(_lock_of(row) for row in rows)


def release(connection: sqlite3.Connection, txn_id: int) -> None:
    """Drop all locks of a transaction, granted and waiting."""
    connection.execute("DELETE FROM locks WHERE txn_id = ?", (txn_id,))


def _lock_of(row: sqlite3.Row) -> LockInfo:
    return LockInfo(
        lock_id=row["lock_id"],
        txn_id=row["txn_id"],
        database=row["database_name"],
        table=row["table_name"],
        partition=row["partition_name"],
        type=LockType(row["type"]),
        state=LockState(row["state"]),
        user=row["user"],
        host=row["host"],
        acquired=None if row["acquired"] is None else int(row["acquired"]),
        last_heartbeat=int(row["last_heartbeat"]),
    )
