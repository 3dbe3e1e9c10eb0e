"""Write ids of the embedded metastore: one sequence per table, one id per transaction and table."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable

from acidsql.format.identifiers import lowered
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.embedded import catalog
from acidsql.metastore.embedded.transactions import abort_cause, state_of
from acidsql.metastore.model import TxnState, TxnType


def allocate(connection: sqlite3.Connection, txn_id: int, database: str, table: str) -> int:
    """Allocate a write id (``Metastore.allocate_write_id``, AllocateTableWriteIdsFunction).

    Raises:
        TransactionStateError: WRITE_ID_REFUSED, the transaction is not open, or is read-only.
    """
    table_id = catalog.table_id(connection, database, table)
    _require_writer(connection, txn_id)
    row = connection.execute(
        "SELECT write_id FROM write_ids WHERE txn_id = ? AND table_id = ?", (txn_id, table_id)
    ).fetchone()
    if row is not None:
        return int(row[0])
    write_id = next_write_id(connection, database, table)
    connection.execute(
        "INSERT INTO write_ids (table_id, write_id, txn_id) VALUES (?, ?, ?)",
        (table_id, write_id, txn_id),
    )
    connection.execute(
        "UPDATE tables SET next_write_id = ? WHERE table_id = ?", (write_id + 1, table_id)
    )
    return write_id


def record_commit(connection: sqlite3.Connection, txn_id: int, now: float) -> None:
    """Record the commit of a transaction's write ids, if it has any, under the next number."""
    row = connection.execute(
        "SELECT value + 1 FROM counters WHERE name = 'commit_number'"
    ).fetchone()
    cursor = connection.execute(
        "UPDATE write_ids SET outcome = ?, commit_number = ?, ended = ? WHERE txn_id = ?",
        (TxnState.COMMITTED.value, row[0], now, txn_id),
    )
    if cursor.rowcount:
        connection.execute("UPDATE counters SET value = ? WHERE name = 'commit_number'", (row[0],))


def record_abort(connection: sqlite3.Connection, txn_id: int, now: float) -> None:
    """Record the abort of a transaction's write ids."""
    connection.execute(
        "UPDATE write_ids SET outcome = ?, ended = ? WHERE txn_id = ?",
        (TxnState.ABORTED.value, now, txn_id),
    )


def next_write_id(connection: sqlite3.Connection, database: str, table: str) -> int:
    """Return the next write id of a table (``Metastore.next_write_id``)."""
    row = connection.execute(
        "SELECT next_write_id FROM tables WHERE table_id = ?",
        (catalog.table_id(connection, database, table),),
    ).fetchone()
    return int(row[0])


def of_transaction(connection: sqlite3.Connection, txn_id: int) -> dict[str, int]:
    """Return the write ids of a transaction, by the full names of their tables."""
    rows = connection.execute(
        "SELECT database_name || '.' || table_name, write_id FROM write_ids"
        " JOIN tables ON tables.table_id = write_ids.table_id WHERE txn_id = ?",
        (txn_id,),
    )
    return {str(row[0]): int(row[1]) for row in rows}


def given_after(
    connection: sqlite3.Connection, database: str, table: str, write_id: int
) -> frozenset[int]:
    """Return the allocated write ids above ``write_id`` (``Metastore.write_ids_after``)."""
    rows = connection.execute(
        "SELECT write_id FROM write_ids WHERE table_id = ? AND write_id > ?",
        (catalog.table_id(connection, database, table), write_id),
    )
    return frozenset(row[0] for row in rows)


def seed(
    connection: sqlite3.Connection,
    database: str,
    table: str,
    next_id: int,
    *,
    by_others: bool = True,
) -> None:
    """Raise the next write id of a table (``Metastore.seed_write_id``).

    Args:
        connection: connection to the metastore's file.
        database: database of the table.
        table: name of the table.
        next_id: minimum of the next write id.
        by_others: whether other writers have used the skipped ids, and may have removed directories
            too.
    """
    table_id = catalog.table_id(connection, database, table)
    if next_id > next_write_id(connection, database, table):
        if by_others:
            connection.execute(
                "UPDATE tables SET cleaning_is_recorded = 0 WHERE table_id = ?", (table_id,)
            )
        connection.execute(
            "UPDATE tables SET next_write_id = ? WHERE table_id = ?", (next_id, table_id)
        )
        # The skipped ids count as committed, because their outcome is unknown.
        connection.execute(
            "UPDATE tables SET settled_write_id = max(settled_write_id, ?) WHERE table_id = ?",
            (next_id - 1, table_id),
        )


def valid_write_ids(
    connection: sqlite3.Connection, database: str, table: str, txns: ValidTxnList
) -> ValidWriteIdList:
    """Return the write ids that a snapshot sees (``Metastore.valid_write_ids``).

    The high-water mark is the highest write id of a transaction within the snapshot, or the table's
    ``settled_write_id`` if that is higher. Below the mark, write ids are invalid if the transaction
    was open or aborted, or came after the snapshot (GetValidWriteIdsForTableFunction).
    """
    table_id = catalog.table_id(connection, database, table)
    high_water_mark = _high_water_mark(connection, table_id, txns.high_water_mark)
    # The plus makes SQLite use the index by transaction, where the few later ids are at the end.
    # With the primary key, it would read every row of the table.
    later = connection.execute(
        "SELECT write_id FROM write_ids WHERE +table_id = ? AND txn_id > ? AND write_id <= ?",
        (table_id, txns.high_water_mark, high_water_mark),
    )
    open_write_ids = _write_ids_of(connection, table_id, txns.open) | {row[0] for row in later}
    aborted_write_ids = _write_ids_of(connection, table_id, txns.aborted)
    return ValidWriteIdList(
        table=f"{lowered(database)}.{lowered(table)}",
        high_water_mark=high_water_mark,
        open=frozenset(w for w in open_write_ids if w <= high_water_mark),
        aborted=frozenset(w for w in aborted_write_ids - open_write_ids if w <= high_water_mark),
    )


def _require_writer(connection: sqlite3.Connection, txn_id: int) -> None:
    state = state_of(connection, txn_id)
    if state is TxnState.OPEN:
        row = connection.execute("SELECT type FROM txns WHERE txn_id = ?", (txn_id,)).fetchone()
        if row[0] != TxnType.READ_ONLY.value:
            return
        reason = "is read-only"
    elif state is TxnState.ABORTED:
        reason = f"was aborted: {abort_cause(connection, txn_id)}"
    else:
        reason = "is committed"
    raise failures.write_id_refused(txn_id, reason)


def _high_water_mark(connection: sqlite3.Connection, table_id: int, highest_txn_id: int) -> int:
    finished = connection.execute(
        "SELECT settled_write_id FROM tables WHERE table_id = ?", (table_id,)
    ).fetchone()[0]
    # Here the plus makes SQLite use the primary key, where the answer is among the last rows.
    row = connection.execute(
        "SELECT write_id FROM write_ids WHERE table_id = ? AND +txn_id <= ?"
        " ORDER BY write_id DESC LIMIT 1",
        (table_id, highest_txn_id),
    ).fetchone()
    return int(finished) if row is None else max(int(finished), int(row[0]))


def _write_ids_of(
    connection: sqlite3.Connection, table_id: int, txn_ids: Iterable[int]
) -> set[int]:
    rows = connection.execute(
        "SELECT write_id FROM write_ids WHERE +table_id = ? AND cleaned = 0"
        " AND txn_id IN (SELECT value FROM json_each(?))",
        (table_id, json.dumps(sorted(txn_ids))),
    )
    return {row[0] for row in rows}
