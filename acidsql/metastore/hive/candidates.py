"""Candidates for a compaction on a Hive Metastore: tables whose highest write id has moved.

The server does not show clients its own list of writes (COMPLETED_TXN_COMPONENTS), and does not
report which partitions of a table were written to.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator

from acidsql.metastore.hive import catalog, transactions
from acidsql.metastore.hive.server import Server
from acidsql.metastore.model import CompactionCandidate

_TableKey = tuple[str, str]


class MovedTables:
    """Tables with writes since the initiator of this client last examined them."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._lock = threading.Lock()
        self._seen: dict[_TableKey, int] = {}

    def candidates(self) -> Iterator[CompactionCandidate]:
        """Yield the tables (``Metastore.compaction_candidates``)."""
        for database in catalog.databases(self._server):
            for name in catalog.tables(self._server, database):
                highest = transactions.highest_write_id(self._server, database, name)
                with self._lock:
                    writes = highest - self._seen.get((database, name), 0)
                if writes > 0:
                    yield CompactionCandidate(
                        database=database, table=name, partition=None, writes=writes
                    )

    def looked(self, candidate: CompactionCandidate) -> None:
        """Record that the initiator has examined a table (``Metastore.compaction_looked``)."""
        key = (candidate.database, candidate.table)
        with self._lock:
            self._seen[key] = self._seen.get(key, 0) + candidate.writes
