"""History of a table beside its commits: the columns that its older versions are read with, and the
changes that have made older versions unreadable. A cleaner is no such change.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum


class LimitedBy(StrEnum):
    """Kind of a change that leaves no way to older versions."""

    COLUMNS = "columns"
    PARTITIONS = "partitions"
    LOCATION = "location"
    REPLACED = "replaced"


def record_limit(connection: sqlite3.Connection, table_id: int, reason: LimitedBy) -> None:
    """Record that versions from before now cannot be read; the commit follows, if there is one."""
    connection.execute(
        """
        INSERT INTO history_limits (table_id, reason, commit_number)
        SELECT ?, ?, value + 1 FROM counters WHERE name = 'commit_number'
        ON CONFLICT (table_id, reason) DO UPDATE SET commit_number = excluded.commit_number
        """,
        (table_id, reason.value),
    )


def record_columns(connection: sqlite3.Connection, table_id: int, columns: str) -> None:
    """Record that versions from before now have some columns; the commit follows, if there is one.

    Of several changes before the next commit the first counts: nothing was committed between them.

    Args:
        connection: to the metastore's file.
        table_id: the table.
        columns: as ``catalog.columns_text`` writes them.
    """
    connection.execute(
        """
        INSERT INTO column_history (table_id, commit_number, columns)
        SELECT ?, value + 1, ? FROM counters WHERE name = 'commit_number'
        ON CONFLICT DO NOTHING
        """,
        (table_id, columns),
    )


def columns_at(connection: sqlite3.Connection, table_id: int, number: int) -> str | None:
    """Return what ``record_columns`` kept for the version after the commit with a number; None if
    its columns are those of now.
    """
    row = connection.execute(
        "SELECT columns FROM column_history WHERE table_id = ? AND commit_number > ?"
        " ORDER BY commit_number LIMIT 1",
        (table_id, number),
    ).fetchone()
    return None if row is None else str(row[0])
