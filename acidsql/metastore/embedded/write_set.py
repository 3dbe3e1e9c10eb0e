"""Write sets of transactions, and their conflicts (Hive's TXN_COMPONENTS and WRITE_SET).

Two transactions conflict when both UPDATE or DELETE the same partition, or either of them the whole
table, and one commits after the other opened. The partition is the unit, never the row; INSERT
never conflicts.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

from acidsql.errors import WriteConflictError
from acidsql.metastore.model import LockState, LockType, Operation, TxnState
from acidsql.metastore.names import object_name, partition_name

_VERBS = {Operation.UPDATE: "update", Operation.DELETE: "delete"}


def enter(
    connection: sqlite3.Connection,
    txn_id: int,
    table_id: int,
    partition: str | None,
    operation: Operation,
    *,
    placeholder: bool,
) -> None:
    """Add the change of a partition, or of a whole table (None), to the write set.

    A placeholder stands for the partitions of a dynamic write until they are known.
    """
    entry = (txn_id, table_id, partition, operation.value, int(placeholder))
    known = connection.execute(
        "SELECT 1 FROM write_set WHERE txn_id = ? AND table_id = ? AND partition_name IS ?"
        " AND operation = ? AND placeholder = ?",
        entry,
    ).fetchone()
    if known is None:
        connection.execute("INSERT INTO write_set VALUES (?, ?, ?, ?, ?)", entry)


def replace_placeholder(
    connection: sqlite3.Connection,
    txn_id: int,
    table_id: int,
    partitions: Sequence[str],
    operation: Operation,
) -> None:
    """Replace the placeholder of a dynamic write by the partitions that it changed.

    Placeholders of the transaction's other operations stay: a statement that locks dynamically for
    three operations reports the partitions of each, even if there are none.
    """
    connection.execute(
        "DELETE FROM write_set"
        " WHERE txn_id = ? AND table_id = ? AND operation = ? AND placeholder = 1",
        (txn_id, table_id, operation.value),
    )
    for partition in partitions:
        enter(connection, txn_id, table_id, partition_name(partition), operation, placeholder=False)


def conflict(connection: sqlite3.Connection, txn_id: int) -> WriteConflictError | None:
    """Return the first conflict of a transaction with one that committed after it was opened.

    Stricter than Hive's server (CommitTxnFunction): a change of a whole table conflicts with a
    change of any of its partitions. Objects on which the transaction holds an EXCLUSIVE lock are
    exempt: nobody changed them since it was granted, and the transaction has seen what was
    committed before.
    """
    changes = (Operation.UPDATE.value, Operation.DELETE.value)
    row = connection.execute(
        """
        SELECT theirs.txn_id AS winner, theirs.operation AS winner_operation,
               mine.operation AS loser_operation, tables.database_name, tables.table_name,
               coalesce(mine.partition_name, theirs.partition_name) AS partition_name
        FROM write_set AS mine
        JOIN write_set AS theirs ON theirs.table_id = mine.table_id
        JOIN txns AS winner ON winner.txn_id = theirs.txn_id
        JOIN tables ON tables.table_id = mine.table_id
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
        LIMIT 1
        """,
        (
            txn_id,
            TxnState.COMMITTED.value,
            *changes,
            *changes,
            LockType.EXCLUSIVE.value,
            LockState.ACQUIRED.value,
        ),
    ).fetchone()
    if row is None:
        return None
    where = object_name(row["database_name"], row["table_name"], row["partition_name"])
    ours = _VERBS[Operation(row["loser_operation"])]
    theirs = _VERBS[Operation(row["winner_operation"])]
    return WriteConflictError(
        "CONCURRENT_WRITE",
        f"transaction {txn_id} was aborted: its {ours} of {where} conflicts with the {theirs} by "
        f"transaction {row['winner']}, which committed first; run the statement again",
        {"txnId": str(txn_id), "winnerTxnId": str(row["winner"]), "object": where},
    )


def has_changes(connection: sqlite3.Connection, txn_id: int) -> bool:
    """Return whether a transaction updates or deletes anything, so that others may conflict with
    it.
    """
    row = connection.execute(
        "SELECT 1 FROM write_set WHERE txn_id = ? AND operation IN (?, ?) LIMIT 1",
        (txn_id, Operation.UPDATE.value, Operation.DELETE.value),
    ).fetchone()
    return row is not None
