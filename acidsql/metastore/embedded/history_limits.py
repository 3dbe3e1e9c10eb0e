"""Changes that have made older versions of a table unreadable; a cleaner is no change."""

from __future__ import annotations

import sqlite3
from enum import StrEnum


class LimitedBy(StrEnum):
    """Kind of a change that leaves no way to older versions."""

    COLUMNS = "columns"
    PARTITIONS = "partitions"
    LOCATION = "location"
    REPLACED = "replaced"


def record(connection: sqlite3.Connection, table_id: int, reason: LimitedBy) -> None:
    """Record that versions from before now cannot be read; the commit follows, if there is one."""
    connection.execute(
        """
        INSERT INTO history_limits (table_id, reason, commit_number)
        SELECT ?, ?, value + 1 FROM counters WHERE name = 'commit_number'
        ON CONFLICT (table_id, reason) DO UPDATE SET commit_number = excluded.commit_number
        """,
        (table_id, reason.value),
    )
