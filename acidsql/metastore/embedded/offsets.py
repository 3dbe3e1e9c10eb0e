"""Offsets of streams in the embedded metastore: how far each was written to a table."""

from __future__ import annotations

import sqlite3

from acidsql.metastore import failures


def find(connection: sqlite3.Connection, table_id: int, stream: str) -> int | None:
    """Return the offset of a stream (``Metastore.stream_offset``)."""
    row = connection.execute(
        "SELECT position FROM stream_offsets WHERE table_id = ? AND stream = ?", (table_id, stream)
    ).fetchone()
    return None if row is None else int(row[0])


def record(
    connection: sqlite3.Connection, table_id: int, stream: str, before: int | None, offset: int
) -> None:
    """Record the offset of a stream, in the SQLite transaction of a commit.

    Raises:
        TransactionStateError: STREAM_OFFSET_CHANGED, another client has advanced the stream.
    """
    current = find(connection, table_id, stream)
    if current != before:
        raise failures.stream_offset_changed(stream, before, current)
    connection.execute(
        "INSERT INTO stream_offsets (table_id, stream, position) VALUES (?, ?, ?)"
        " ON CONFLICT (table_id, stream) DO UPDATE SET position = excluded.position",
        (table_id, stream, offset),
    )
