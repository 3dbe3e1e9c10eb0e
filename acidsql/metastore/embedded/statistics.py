"""Statistics of tables and partitions in the embedded metastore.

Each write marks the statistics of the written partitions and of the whole table as out of date, in
the same SQLite transaction as its commit.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace

from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.model import TxnState
from acidsql.metastore.table_statistics import ColumnStatistics, Statistics, merged

# Key of the whole table, instead of a partition's values.
_WHOLE = ""


def find(
    connection: sqlite3.Connection, table_id: int, partition: tuple[str, ...] | None
) -> Statistics | None:
    """Return the statistics of a table or partition, or None (``Metastore.statistics``)."""
    row = connection.execute(
        "SELECT * FROM statistics WHERE table_id = ? AND partition_values = ?",
        (table_id, _key(partition)),
    ).fetchone()
    if row is None:
        return None
    return Statistics(
        partition=partition,
        size=row["size"],
        files=row["files"],
        rows=row["rows"],
        raw_size=row["raw_size"],
        columns=tuple(ColumnStatistics(**column) for column in json.loads(row["columns"])),
        write_id=row["write_id"],
        write_ids=row["write_ids"],
        is_current=bool(row["is_current"]),
    )


def record(connection: sqlite3.Connection, table_id: int, computed: Sequence[Statistics]) -> None:
    """Store the statistics that an ANALYZE has computed (``RecordStatistics``).

    They are out of date immediately if there were writes since its snapshot.
    """
    for made in computed:
        visible = ValidWriteIdList.from_string(made.write_ids)
        is_current = not _wrote_since(connection, table_id, visible, made.write_id)
        updated = merged(find(connection, table_id, made.partition), made)
        updated = replace(updated, is_current=is_current)
        connection.execute(
            "INSERT OR REPLACE INTO statistics (table_id, partition_values, size, files, rows,"
            " raw_size, columns, write_id, write_ids, is_current)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                table_id,
                _key(updated.partition),
                updated.size,
                updated.files,
                updated.rows,
                updated.raw_size,
                json.dumps([asdict(column) for column in updated.columns]),
                updated.write_id,
                updated.write_ids,
                int(is_current),
            ),
        )


def mark_changed(
    connection: sqlite3.Connection, table_id: int, partitions: Iterable[tuple[str, ...]]
) -> None:
    """Mark the statistics of a table and of some of its partitions as out of date."""
    if connection.execute(
        "SELECT 1 FROM statistics WHERE table_id = ? LIMIT 1", (table_id,)
    ).fetchone():
        connection.executemany(
            "UPDATE statistics SET is_current = 0 WHERE table_id = ? AND partition_values = ?",
            [(table_id, key) for key in (_WHOLE, *map(_key, partitions))],
        )


def forget(
    connection: sqlite3.Connection, table_id: int, partitions: Iterable[tuple[str, ...]]
) -> None:
    """Forget the statistics of partitions that were dropped or renamed."""
    connection.executemany(
        "DELETE FROM statistics WHERE table_id = ? AND partition_values = ?",
        [(table_id, _key(values)) for values in partitions],
    )
    mark_changed(connection, table_id, ())


def _key(partition: tuple[str, ...] | None) -> str:
    return json.dumps(partition) if partition else _WHOLE


def _wrote_since(
    connection: sqlite3.Connection, table_id: int, visible: ValidWriteIdList, write_id: int
) -> bool:
    """Return whether another transaction that a snapshot does not see has committed.

    A transaction that changed only the definition counts too, because the file does not distinguish
    it from a write.
    """
    hidden = json.dumps(sorted({*visible.open, *visible.aborted}))
    row = connection.execute(
        "SELECT 1 FROM write_ids WHERE table_id = ? AND outcome = ? AND write_id <> ?"
        " AND (write_id > ? OR write_id IN (SELECT value FROM json_each(?))) LIMIT 1",
        (table_id, TxnState.COMMITTED.value, write_id, visible.high_water_mark, hidden),
    ).fetchone()
    return row is not None
