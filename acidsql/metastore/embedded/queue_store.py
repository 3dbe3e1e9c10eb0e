"""The compaction queue of the embedded metastore; a base of its store."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from acidsql.metastore.embedded import candidates, catalog, commit_abort, compactions
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.reaper import Reaper
from acidsql.metastore.model import (
    NO_LIMITS,
    NO_OPTIONS,
    Compaction,
    CompactionCandidate,
    CompactionOptions,
    CompactionType,
    WorkerLimits,
)


class QueueStore:
    """Part of ``EmbeddedMetastore`` with the compaction queue.

    Args:
        database: the metastore's file.
        reaper: aborts expired transactions, and returns the entries of ended workers to the queue.
        clock: returns seconds since 1970.
    """

    def __init__(self, database: Database, reaper: Reaper, clock: Callable[[], float]) -> None:
        self.database = database
        self._reaper = reaper
        self._clock = clock

    def request_compaction(
        self,
        database: str,
        table: str,
        partition: str | None,
        compaction_type: CompactionType,
        worker: str | None = None,  # noqa: ARG002 - any entry can be taken by its id
        options: CompactionOptions = NO_OPTIONS,
    ) -> Compaction:
        """See ``Metastore``; a refused result has the id of the entry that is the reason."""
        self._reaper.reap()  # returns the entries of ended workers to the queue
        with self.database.write() as connection:
            return compactions.request(
                connection, database, table, partition, compaction_type, options, self._clock()
            )

    def request_cleanup(self, database: str, table: str, partition: str | None) -> Compaction:
        with self.database.write() as connection:
            return compactions.request_cleanup(
                connection, database, table, partition, self._clock()
            )

    def next_compaction(
        self, worker: str, compaction_id: int | None = None, chosen: WorkerLimits = NO_LIMITS
    ) -> Compaction | None:
        with self.database.write() as connection:
            return compactions.take_next(
                connection, worker, compaction_id, chosen, self._clock(), self._reaper.name()
            )

    def compaction_started(self, compaction_id: int, txn_id: int, highest_write_id: int) -> None:
        with self.database.write() as connection:
            compactions.started(connection, compaction_id, txn_id, highest_write_id)

    def compaction_done(self, compaction_id: int) -> None:
        with self.database.write() as connection:
            compactions.done(connection, compaction_id, self._clock())

    def compaction_given_back(self, compaction_id: int) -> None:
        with self.database.write() as connection:
            compactions.given_back(connection, compaction_id)

    def abort_compaction(self, compaction_id: int) -> Compaction:
        with self.database.write() as connection:
            return compactions.abort(connection, compaction_id, self._clock())

    def compaction_failed(self, compaction_id: int, error: str) -> None:
        with self.database.write() as connection:
            compactions.failed(connection, compaction_id, error, self._clock())

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        with self.database.write() as connection:
            compactions.refused(connection, compaction_id, reason, self._clock())

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        with self.database.read() as connection:
            return compactions.ready_to_clean(connection)

    def compaction_cleaned(
        self, compaction_id: int, highest_write_id: int, kept: Sequence[tuple[int, int]] = ()
    ) -> None:
        with self.database.write() as connection:
            entry = compactions.cleaned(connection, compaction_id, self._clock())
            commit_abort.forget_cleaned(
                connection,
                catalog.table_id(connection, entry.database, entry.table),
                entry.partition,
                partitioned=bool(
                    catalog.table(connection, entry.database, entry.table).partition_columns
                ),
                highest_write_id=highest_write_id,
                kept=kept,
            )

    def compactions(self) -> tuple[Compaction, ...]:
        with self.database.read() as connection:
            return compactions.compactions(connection)

    @property
    def initiates_compactions(self) -> bool:
        return False

    @property
    def cleans_compactions(self) -> bool:
        return False

    def compactions_of(
        self, database: str, table: str, partition: str | None
    ) -> tuple[Compaction, ...]:
        with self.database.read() as connection:
            return compactions.compactions_of(connection, database, table, partition)

    def compaction_candidates(
        self, written_before: float | None = None
    ) -> tuple[CompactionCandidate, ...]:
        with self.database.read() as connection:
            return candidates.due(connection, written_before)

    def compaction_looked(self, candidate: CompactionCandidate, look_after: int) -> None:
        with self.database.write() as connection:
            candidates.looked(connection, candidate, look_after, self._clock())
