"""Protocol of a metastore's compaction queue, for initiators, workers and cleaners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from acidsql.metastore.model import (
    NO_LIMITS,
    NO_OPTIONS,
    Compaction,
    CompactionCandidate,
    CompactionOptions,
    CompactionType,
    WorkerLimits,
)


class QueueProtocol(Protocol):
    """Part of ``Metastore`` with the compaction queue."""

    def request_compaction(
        self,
        database: str,
        table: str,
        partition: str | None,
        compaction_type: CompactionType,
        worker: str | None = None,
        options: CompactionOptions = NO_OPTIONS,
    ) -> Compaction:
        """Add a compaction to the queue.

        If the same object is queued or being compacted already, the result has the state REFUSED
        and the reason in ``error`` (CompactFunction).

        Args:
            worker: name of the worker that will take the entry, used only for this request; None
                lets any worker take it.
        """

    def request_cleanup(self, database: str, table: str, partition: str | None) -> Compaction:
        """Add an entry READY_FOR_CLEANING, for directories that no reader needs and no compaction
        has made obsolete.

        One that waits already and covers it is returned instead. A metastore with a cleaner of its
        own has nothing to request, and raises UNSUPPORTED_FEATURE.CLEANUP.
        """

    def next_compaction(
        self, worker: str, compaction_id: int | None = None, chosen: WorkerLimits = NO_LIMITS
    ) -> Compaction | None:
        """Take the oldest INITIATED entry, make it WORKING and return it; None if there is none.

        No entry is given to two workers. A metastore that does all compactions itself returns None.

        Args:
            compaction_id: entry to take instead of the oldest. A server gives it only to the worker
                that has requested it.
            chosen: which entries the worker takes; a server knows no sizes.
        """

    def compaction_given_back(self, compaction_id: int) -> None:
        """Change an entry from WORKING to INITIATED: its worker has to end and has done nothing."""

    def abort_compaction(self, compaction_id: int) -> Compaction:
        """Change an entry from INITIATED to ABORTED; return it, or as it is if it is not INITIATED.

        Raises:
            AcidLookupError: COMPACTION_NOT_FOUND.
        """

    def compaction_started(self, compaction_id: int, txn_id: int, highest_write_id: int) -> None:
        """Record the compactor's transaction and the highest write id of its snapshot."""

    def compaction_done(self, compaction_id: int) -> None:
        """Change an entry from WORKING to READY_FOR_CLEANING.

        ``next_txn_id`` is set when the compactor's transaction commits (or now, for an entry
        without one). Once no transaction below it is open, no reader needs the old directories.
        """

    def compaction_failed(self, compaction_id: int, error: str) -> None:
        """Change an entry from WORKING to FAILED; it stays in the history."""

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        """Change an entry from WORKING to REFUSED; it stays in the history."""

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        """Return the READY_FOR_CLEANING entries whose old directories no transaction reads.

        These have a ``next_txn_id`` that is not above the lowest open transaction. A metastore with
        a cleaner of its own returns none. The embedded one first deletes the directories of
        replaced tables that no transaction reads.
        """

    def compaction_cleaned(
        self, compaction_id: int, highest_write_id: int, kept: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Change an entry from READY_FOR_CLEANING to SUCCEEDED.

        Aborted transactions may be forgotten if all that they wrote, up to this write id, is
        cleaned.

        Args:
            kept: ranges of write ids of directories that stay and may have rows of aborted writes
                among others.
        """

    def compaction_candidates(
        self, written_before: float | None = None
    ) -> tuple[CompactionCandidate, ...]:
        """Return what the initiator has to look at, oldest first.

        Args:
            written_before: seconds since 1970; what was written to before is looked at even if it
                was not often enough. None: only what was.
        """

    def compaction_looked(self, candidate: CompactionCandidate, look_after: int) -> None:
        """Record that the initiator has looked at a candidate.

        Args:
            look_after: number of further writes after which the next look is due.
        """

    def compactions(self) -> tuple[Compaction, ...]:
        """Return the entries of the queue and of the history, newest first."""

    @property
    def initiates_compactions(self) -> bool:
        """Return whether a server has an initiator that is on, and requests compactions itself."""

    @property
    def cleans_compactions(self) -> bool:
        """Return whether a server has a cleaner that is on, and removes old directories itself."""

    def compactions_of(
        self, database: str, table: str, partition: str | None
    ) -> tuple[Compaction, ...]:
        """Return the entries of a partition, or of a table without partitions, newest first."""
