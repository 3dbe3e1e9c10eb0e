"""The compaction queue of a Hive Metastore; the base of its store."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import lowered
from acidsql.metastore.hive import compactions
from acidsql.metastore.hive.candidates import MovedTables
from acidsql.metastore.hive.compactions import TakenCompactions
from acidsql.metastore.hive.server import Server
from acidsql.metastore.hive.tables import ServerTables
from acidsql.metastore.model import (
    NO_LIMITS,
    NO_OPTIONS,
    Compaction,
    CompactionCandidate,
    CompactionOptions,
    CompactionType,
    WorkerLimits,
)
from acidsql.metastore.names import partition_name


class QueueStore:
    """Part of ``HiveMetastore`` with the compaction queue.

    Args:
        server: the server.
        tables: definitions of its tables.
    """

    def __init__(self, server: Server, tables: ServerTables) -> None:
        self.server = server
        self._tables = tables
        self._taken = TakenCompactions()
        self._moved = MovedTables(server)

    def request_compaction(
        self,
        database: str,
        table: str,
        partition: str | None,
        compaction_type: CompactionType,
        worker: str | None = None,
        options: CompactionOptions = NO_OPTIONS,
    ) -> Compaction:
        self._tables.remembered(database, table)
        return compactions.request(
            self.server, database, table, partition, compaction_type, worker, options
        )

    def request_cleanup(self, database: str, table: str, partition: str | None) -> Compaction:
        del partition
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.CLEANUP",
            f"{database}.{table}: a Hive Metastore decides by itself what is cleaned",
        )

    def next_compaction(
        self, worker: str, compaction_id: int | None = None, chosen: WorkerLimits = NO_LIMITS
    ) -> Compaction | None:
        """See ``Metastore``; an id must be the id of a request reserved for this worker."""
        return compactions.take_next(self.server, self._taken, worker, compaction_id, chosen)

    def compaction_given_back(self, compaction_id: int) -> None:
        compactions.given_back(self.server, self._taken, compaction_id)

    def abort_compaction(self, compaction_id: int) -> Compaction:
        return compactions.abort(self.server, compaction_id)

    @property
    def initiates_compactions(self) -> bool:
        return compactions.initiates_itself(self.server)

    @property
    def cleans_compactions(self) -> bool:
        return compactions.cleans_itself(self.server)

    def compactions_of(
        self, database: str, table: str, partition: str | None
    ) -> tuple[Compaction, ...]:
        wanted = lowered(database), lowered(table), partition_name(partition)
        return tuple(c for c in self.compactions() if (c.database, c.table, c.partition) == wanted)

    def compaction_candidates(
        self,
        written_before: float | None = None,  # noqa: ARG002 - the server does not report when
    ) -> tuple[CompactionCandidate, ...]:
        return tuple(self._moved.candidates())

    def compaction_looked(self, candidate: CompactionCandidate, look_after: int) -> None:  # noqa: ARG002
        self._moved.looked(candidate)

    def compaction_started(self, compaction_id: int, txn_id: int, highest_write_id: int) -> None:
        compactions.started(self.server, self._taken, compaction_id, txn_id, highest_write_id)

    def compaction_done(self, compaction_id: int) -> None:
        compactions.done(self.server, self._taken, compaction_id)

    def compaction_failed(self, compaction_id: int, error: str) -> None:
        compactions.failed(self.server, self._taken, compaction_id, error)

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        compactions.refused(self.server, self._taken, compaction_id, reason)

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        """See ``Metastore``; the result is empty if the server runs its own cleaner."""
        return compactions.ready_to_clean(self.server)

    def compaction_cleaned(
        self,
        compaction_id: int,
        highest_write_id: int,
        kept: Sequence[tuple[int, int]] = (),  # noqa: ARG002 - the server forgets by itself
    ) -> None:
        compactions.cleaned(self.server, compaction_id, highest_write_id)

    def compactions(self) -> tuple[Compaction, ...]:
        return compactions.compactions(self.server)
