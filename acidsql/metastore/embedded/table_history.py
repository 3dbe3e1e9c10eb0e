"""History of a table in addition to its commits.

It contains the columns of older versions, and the changes that made older versions unreadable. It
does not contain the removals by cleaners.
"""

from __future__ import annotations

import sqlite3
from enum import StrEnum


class LimitedBy(StrEnum):
    """Kind of a change after which older versions cannot be read."""

    COLUMNS = "columns"
    PARTITIONS = "partitions"
    LOCATION = "location"
    REPLACED = "replaced"


def record_limit(connection: sqlite3.Connection, table_id: int, reason: LimitedBy) -> None:
    """Record that older versions can no longer be read; the commit, if any, follows."""
    connection.execute(
        """
        INSERT INTO history_limits (table_id, reason, commit_number)
        SELECT ?, ?, value + 1 FROM counters WHERE name = 'commit_number'
        ON CONFLICT (table_id, reason) DO UPDATE SET commit_number = excluded.commit_number
        """,
        (table_id, reason.value),
    )


def record_columns(connection: sqlite3.Connection, table_id: int, columns: str) -> None:
    """Record the columns that all older versions have; the commit, if any, follows.

    If several changes precede the next commit, only the first one counts, because nothing was
    committed between them.

    Args:
        connection: connection to the metastore's file.
        table_id: the table.
        columns: columns in the form of ``catalog.columns_text``.
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
    """Return the columns that ``record_columns`` stored for the version after a commit number.

    None if the version has the current columns.
    """
    row = connection.execute(
        "SELECT columns FROM column_history WHERE table_id = ? AND commit_number > ?"
        " ORDER BY commit_number LIMIT 1",
        (table_id, number),
    ).fetchone()
    return None if row is None else str(row[0])
