"""History of the tables in the embedded metastore: which statement had which write id.

The allocation of a write id creates the entry, and the commit completes it. Both happen in existing
SQLite transactions, so the history needs no further one. ``write_ids`` contains the outcome and the
time of the end.
"""

from __future__ import annotations

import sqlite3

from acidsql.metastore.catalog_changes import CatalogChange, RecordCompaction, RecordCounts
from acidsql.metastore.embedded import catalog
from acidsql.metastore.history import COMPACT, HistoryEntry, RecordedStatement, WriteCounts
from acidsql.metastore.model import TxnState

_COUNTS = ("inserted", "updated", "deleted", "files", "bytes")

# Write ids that were allocated up to schema version 4 have no entry.
_WRITE_IDS = """
    SELECT w.write_id, w.write_id AS first_write_id, w.txn_id, w.outcome, w.ended,
           coalesce(h.started, txns.started) AS started, coalesce(h.user, txns.user) AS user,
           coalesce(h.host, txns.host) AS host, h.operation, h.statement,
           NULL AS partition_name, h.inserted, h.updated, h.deleted, h.files, h.bytes
    FROM write_ids AS w
    LEFT JOIN history AS h USING (table_id, write_id, txn_id)
    LEFT JOIN txns ON txns.txn_id = w.txn_id
    WHERE w.table_id = :table AND w.write_id > :forgotten
"""
_COMPACTIONS = f"""
    SELECT write_id, first_write_id, txn_id, '{TxnState.COMMITTED.value}' AS outcome, ended,
           started, user, host, operation, statement,
           partition_name, inserted, updated, deleted, files, bytes
    FROM history
    WHERE table_id = :table AND write_id > :forgotten AND operation = '{COMPACT}'
"""


def enter(
    connection: sqlite3.Connection,
    txn_id: int,
    database: str,
    table: str,
    statement: RecordedStatement,
    kept: int,
) -> None:
    """Create the entry of a transaction's new write id, and forget the oldest entries.

    Args:
        connection: connection to the metastore's file.
        txn_id: the transaction, which is open.
        database: database of the table.
        table: name of the table.
        statement: the statement that the transaction runs.
        kept: number of the table's newest write ids whose entries stay.
    """
    table_id = catalog.table_id(connection, database, table)
    connection.execute(
        """
        INSERT OR IGNORE INTO history
            (table_id, write_id, txn_id, first_write_id, user, host, started, operation, statement)
        SELECT table_id, write_id, txn_id, write_id, user, host, started, ?, ?
        FROM write_ids JOIN txns USING (txn_id) WHERE txn_id = ? AND table_id = ?
        """,
        (statement.operation, statement.text, txn_id, table_id),
    )
    connection.execute(
        "DELETE FROM history WHERE table_id = ? AND write_id <= ?",
        (table_id, _newest(connection, table_id) - kept),
    )


def record(connection: sqlite3.Connection, txn_id: int, change: CatalogChange, now: float) -> None:
    """Record the work of a committing transaction, if the change belongs to the history."""
    if isinstance(change, RecordCounts):
        _record_counts(connection, txn_id, change)
    elif isinstance(change, RecordCompaction):
        _record_compaction(connection, txn_id, change, now)


def entries(
    connection: sqlite3.Connection, database: str, table: str, limit: int | None, kept: int
) -> tuple[HistoryEntry, ...]:
    """Return the newest entries of a table, newest first (``Metastore.history``).

    A compaction comes directly before the highest write id that it merged.

    Args:
        connection: connection to the metastore's file.
        database: database of the table.
        table: name of the table.
        limit: maximum number of entries, or None.
        kept: see ``enter``; the result skips older write ids.
    """
    table_id = catalog.table_id(connection, database, table)
    rows = connection.execute(
        f"{_WRITE_IDS} UNION ALL {_COMPACTIONS} ORDER BY write_id DESC, txn_id DESC LIMIT :limit",
        {
            "table": table_id,
            "forgotten": _newest(connection, table_id) - kept,
            "limit": -1 if limit is None else limit,
        },
    )
    return tuple(map(_entry, rows))


def _record_counts(connection: sqlite3.Connection, txn_id: int, change: RecordCounts) -> None:
    """Complete the entry of a transaction that commits."""
    table_id = catalog.table_id(connection, change.table.database, change.table.name)
    connection.execute(
        f"""
        UPDATE history SET {", ".join(f"{name} = ?" for name in _COUNTS)}
        WHERE table_id = ? AND txn_id = ? AND write_id =
            (SELECT write_id FROM write_ids WHERE txn_id = ? AND table_id = ?)
        """,
        (*_numbers(change.counts), table_id, txn_id, txn_id, table_id),
    )
    if change.statement is not None:
        connection.execute(
            "UPDATE history SET operation = ?, statement = ? WHERE table_id = ? AND txn_id = ?",
            (change.statement.operation, change.statement.text, table_id, txn_id),
        )


def _record_compaction(
    connection: sqlite3.Connection, txn_id: int, change: RecordCompaction, now: float
) -> None:
    """Create the entry of a compaction whose transaction commits."""
    table_id = catalog.table_id(connection, change.table.database, change.table.name)
    connection.execute(
        f"""
        INSERT INTO history
            (table_id, write_id, txn_id, first_write_id, user, host, started, ended,
             operation, statement, partition_name, {", ".join(_COUNTS)})
        SELECT ?, ?, txn_id, ?, user, host, started, ?, ?, ?, ?, ?, ?, ?, ?, ?
        FROM txns WHERE txn_id = ?
        """,
        (
            table_id,
            change.write_id,
            change.first_write_id,
            now,
            COMPACT,
            change.type.value,
            change.partition,
            *_numbers(change.counts),
            txn_id,
        ),
    )


def _newest(connection: sqlite3.Connection, table_id: int) -> int:
    """Return the highest write id that was allocated for a table."""
    row = connection.execute(
        "SELECT next_write_id - 1 FROM tables WHERE table_id = ?", (table_id,)
    ).fetchone()
    return int(row[0])


def _numbers(counts: WriteCounts) -> tuple[int | None, ...]:
    return counts.inserted, counts.updated, counts.deleted, counts.files, counts.size


def _entry(row: sqlite3.Row) -> HistoryEntry:
    return HistoryEntry(
        write_id=row["write_id"],
        first_write_id=row["first_write_id"],
        state=TxnState(row["outcome"] or TxnState.OPEN),
        txn_id=row["txn_id"],
        started=row["started"],
        ended=row["ended"],
        user=row["user"],
        host=row["host"],
        operation=row["operation"],
        statement=row["statement"],
        partition=row["partition_name"],
        counts=WriteCounts(
            inserted=row["inserted"],
            updated=row["updated"],
            deleted=row["deleted"],
            files=row["files"],
            size=row["bytes"],
        ),
    )
