"""Candidates for a compaction: tables and partitions with writes since the initiator's last look.

The initiator therefore examines no partition twice without a reason, even if there are many. The
next look is due after a number of writes, which the last look has set, or after a time.
"""

from __future__ import annotations

import sqlite3

from acidsql.metastore.embedded import catalog
from acidsql.metastore.model import CompactionCandidate

_WHOLE_TABLE = ""


def add(connection: sqlite3.Connection, txn_id: int, now: float) -> None:
    """Add the tables and partitions in a transaction's write set, at its commit or abort."""
    connection.execute(
        """
        INSERT INTO compaction_candidates
        SELECT DISTINCT table_id, coalesce(partition_name, ?), 1, 0, ? FROM write_set
        WHERE txn_id = ? AND placeholder = 0
        ON CONFLICT (table_id, partition_name) DO UPDATE
        SET writes = writes + 1,
            since = CASE writes WHEN 0 THEN excluded.since ELSE since END
        """,
        (_WHOLE_TABLE, now, txn_id),
    )


def due(
    connection: sqlite3.Connection, written_before: float | None
) -> tuple[CompactionCandidate, ...]:
    """List the candidates that the initiator must examine (``Metastore.compaction_candidates``)."""
    rows = connection.execute(
        """
        SELECT database_name, table_name, partition_name, writes, compaction_candidates.table_id
        FROM compaction_candidates JOIN tables USING (table_id)
        WHERE writes > 0 AND (writes >= look_after OR since <= ?)
        ORDER BY since
        """,
        (float("-inf") if written_before is None else written_before,),
    ).fetchall()
    aborts = {row[4]: _aborts(connection, row[4]) for row in rows}
    return tuple(
        CompactionCandidate(
            database=row[0],
            table=row[1],
            partition=row[2] or None,
            writes=row[3],
            aborted=aborts[row[4]][0],
            oldest_abort=aborts[row[4]][1],
        )
        for row in rows
    )


def looked(
    connection: sqlite3.Connection, candidate: CompactionCandidate, look_after: int, now: float
) -> None:
    """Record that the initiator has examined a candidate (``Metastore.compaction_looked``)."""
    if catalog.find_table(connection, candidate.database, candidate.table) is None:
        return
    table_id = catalog.table_id(connection, candidate.database, candidate.table)
    connection.execute(
        "UPDATE compaction_candidates SET writes = max(writes - ?, 0), look_after = ?, since = ?"
        " WHERE table_id = ? AND partition_name = ?",
        (candidate.writes, look_after, now, table_id, candidate.partition or _WHOLE_TABLE),
    )


def _aborts(connection: sqlite3.Connection, table_id: int) -> tuple[int, int | None]:
    """Return the number of uncleaned aborted writes to a table, and the time of the oldest one."""
    count, oldest = connection.execute(
        "SELECT count(*), min(ended) FROM write_ids"
        " WHERE table_id = ? AND outcome = 'aborted' AND cleaned = 0",  # as in the index
        (table_id,),
    ).fetchone()
    return count, None if oldest is None else int(oldest)
