"""Columns that tables had before they were changed, which their older versions are read with."""

from __future__ import annotations

import sqlite3


def record(connection: sqlite3.Connection, table_id: int, columns: str) -> None:
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


def find(connection: sqlite3.Connection, table_id: int, number: int) -> str | None:
    """Return the columns of the version after the commit with a number, as ``record`` got them;
    None if they are those of now.
    """
    row = connection.execute(
        "SELECT columns FROM column_history WHERE table_id = ? AND commit_number > ?"
        " ORDER BY commit_number LIMIT 1",
        (table_id, number),
    ).fetchone()
    return None if row is None else str(row[0])
