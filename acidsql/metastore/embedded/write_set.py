"""Write sets of transactions, and their conflicts (Hive's TXN_COMPONENTS and WRITE_SET).

Two transactions conflict if both UPDATE or DELETE in the same partition and one commits after the
other opened. A change of the whole table conflicts with every partition. If delete events name the
changed rows on both sides, the client of the later transaction compares them, and the commit relies
on its result. INSERT never conflicts.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence

from acidsql.errors import WriteConflictError
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.comparison import Compared, ConcurrentWrite
from acidsql.metastore.embedded import catalog
from acidsql.metastore.embedded.transactions import state_of
from acidsql.metastore.model import LockState, LockType, Operation, TxnState
from acidsql.metastore.names import object_name, partition_name


def enter(
    connection: sqlite3.Connection,
    txn_id: int,
    table_id: int,
    partition: str | None,
    operation: Operation,
    *,
    placeholder: bool,
    by_rows: bool = False,
) -> None:
    """Add the change of a partition, or of a whole table (None), to the write set.

    Args:
        placeholder: whether the entry replaces the partitions of a dynamic write until they are
            known.
        by_rows: whether delete events name the changed rows.
    """
    entry = (txn_id, table_id, partition, operation.value, int(placeholder))
    existing = connection.execute(
        "SELECT 1 FROM write_set WHERE txn_id = ? AND table_id = ? AND partition_name IS ?"
        " AND operation = ? AND placeholder = ?",
        entry,
    ).fetchone()
    if existing is None:
        connection.execute(
            "INSERT INTO write_set VALUES (?, ?, ?, ?, ?, ?)", (*entry, int(by_rows))
        )


def replace_placeholder(
    connection: sqlite3.Connection,
    txn_id: int,
    table_id: int,
    partitions: Sequence[str],
    operation: Operation,
) -> None:
    """Replace the placeholder of a dynamic write by the partitions that it changed.

    Placeholders of the transaction's other operations stay. A statement that locks dynamically for
    three operations reports the partitions of each operation, even if there are none.
    """
    connection.execute(
        "DELETE FROM write_set"
        " WHERE txn_id = ? AND table_id = ? AND operation = ? AND placeholder = 1",
        (txn_id, table_id, operation.value),
    )
    by_rows = _changes_rows(connection, txn_id, table_id)
    for partition in partitions:
        enter(
            connection,
            txn_id,
            table_id,
            partition_name(partition),
            operation,
            placeholder=False,
            by_rows=by_rows,
        )


def _changes_rows(connection: sqlite3.Connection, txn_id: int, table_id: int) -> bool:
    """Return whether a transaction changes a table by delete events.

    It does if it holds the locks of UPDATE, DELETE and MERGE, and no lock for replacing rows.
    """
    rows = connection.execute(
        "SELECT type FROM locks WHERE txn_id = ? AND table_id = ?", (txn_id, table_id)
    ).fetchall()
    types = {LockType(row[0]) for row in rows}
    return LockType.SHARED_WRITE in types and LockType.EXCLUSIVE not in types


def conflict(
    connection: sqlite3.Connection, txn_id: int, compared: Compared | None = None
) -> WriteConflictError | None:
    """Return the first conflict of a transaction with one that committed after it was opened.

    This is stricter than Hive's server (CommitTxnFunction): a change of a whole table conflicts
    with a change of any of its partitions.

    Args:
        compared: changes that the client compared by rows, which are not conflicts; None compares
            only partitions.
    """
    disjoint = frozenset() if compared is None else compared.disjoint
    for clash in _clashes(connection, txn_id):
        if not (clash["by_rows"] and clash["winner"] in disjoint):
            return failures.write_conflict(
                txn_id,
                Operation(clash["loser_operation"]),
                object_name(clash["database_name"], clash["table_name"], clash["partition_name"]),
                clash["winner"],
                Operation(clash["winner_operation"]),
            )
    return None


def concurrent_writes(connection: sqlite3.Connection, txn_id: int) -> tuple[ConcurrentWrite, ...]:
    """Return the changes that a client must compare (``Metastore.concurrent_writes``)."""
    return tuple(
        ConcurrentWrite(
            txn_id=clash["winner"],
            write_id=clash["write_id"],
            database=clash["database_name"],
            table=clash["table_name"],
            partition=clash["partition_name"],
            operation=Operation(clash["winner_operation"]),
            own_operation=Operation(clash["loser_operation"]),
        )
        for clash in _clashes(connection, txn_id)
        if clash["by_rows"]
    )


def is_complete(connection: sqlite3.Connection, txn_id: int, compared: Compared) -> bool:
    """Return whether an open transaction has compared all other commits that it must compare."""
    if state_of(connection, txn_id) is not TxnState.OPEN:
        return True
    if any(
        clash["by_rows"] and clash["winner"] not in compared.disjoint
        for clash in _clashes(connection, txn_id)
    ):
        return False
    return not any(
        _has_others(connection, txn_id, *name, shown) for name, shown in compared.watched.items()
    )


def _has_others(
    connection: sqlite3.Connection,
    txn_id: int,
    database: str,
    table: str,
    shown: ValidWriteIdList,
) -> bool:
    """Return whether another transaction has committed a write id that a list does not contain."""
    row = connection.execute(
        """
        SELECT 1 FROM write_ids
        WHERE table_id = ? AND txn_id <> ? AND outcome = ?
          AND (write_id > ? OR write_id IN (SELECT value FROM json_each(?)))
        LIMIT 1
        """,
        (
            catalog.table_id(connection, database, table),
            txn_id,
            TxnState.COMMITTED.value,
            shown.high_water_mark,
            json.dumps(sorted(shown.open)),
        ),
    ).fetchone()
    return row is not None


def _clashes(connection: sqlite3.Connection, txn_id: int) -> list[sqlite3.Row]:
    """Return the pairs of changes in the same partition, in the order of the commits.

    One change of a pair is of the transaction, the other is of a transaction that committed after
    it was opened. ``by_rows`` is 1 if delete events name the changed rows of both. Objects on which
    the transaction holds an EXCLUSIVE lock are exempt, because it has seen all earlier commits, and
    no other transaction has changed them since.
    """
    changes = (Operation.UPDATE.value, Operation.DELETE.value)
    return connection.execute(
        """
        SELECT theirs.txn_id AS winner, theirs.operation AS winner_operation,
               mine.operation AS loser_operation, tables.database_name, tables.table_name,
               coalesce(mine.partition_name, theirs.partition_name) AS partition_name,
               write_ids.write_id,
               mine.by_rows AND theirs.by_rows AND NOT mine.placeholder AND NOT theirs.placeholder
                   AND mine.partition_name IS theirs.partition_name
                   AND write_ids.write_id IS NOT NULL AS by_rows
        FROM write_set AS mine
        JOIN write_set AS theirs ON theirs.table_id = mine.table_id
        JOIN txns AS winner ON winner.txn_id = theirs.txn_id
        JOIN tables ON tables.table_id = mine.table_id
        LEFT JOIN write_ids
          ON write_ids.txn_id = theirs.txn_id AND write_ids.table_id = theirs.table_id
        WHERE mine.txn_id = ? AND theirs.txn_id <> mine.txn_id
          AND winner.state = ? AND winner.commit_id >= mine.txn_id
          AND mine.operation IN (?, ?) AND theirs.operation IN (?, ?)
          AND (mine.partition_name IS NULL OR theirs.partition_name IS NULL
               OR mine.partition_name = theirs.partition_name)
          AND NOT EXISTS (
              SELECT 1 FROM locks
              WHERE locks.txn_id = mine.txn_id AND locks.table_id = mine.table_id
                AND locks.type = ? AND locks.state = ?
                AND (locks.partition_name IS NULL OR locks.partition_name = mine.partition_name))
        ORDER BY winner.commit_id, theirs.txn_id
        """,
        (
            txn_id,
            TxnState.COMMITTED.value,
            *changes,
            *changes,
            LockType.EXCLUSIVE.value,
            LockState.ACQUIRED.value,
        ),
    ).fetchall()


def has_changes(connection: sqlite3.Connection, txn_id: int) -> bool:
    """Return whether a transaction updates or deletes rows, so that others may conflict."""
    row = connection.execute(
        "SELECT 1 FROM write_set WHERE txn_id = ? AND operation IN (?, ?) LIMIT 1",
        (txn_id, Operation.UPDATE.value, Operation.DELETE.value),
    ).fetchone()
    return row is not None
