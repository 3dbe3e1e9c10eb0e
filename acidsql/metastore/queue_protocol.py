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

        If the same table or partition is already queued or being compacted, the result has the
        state REFUSED and the reason in ``error`` (CompactFunction).

        Args:
            worker: name of the worker that will take the entry, used only for this request; None
                lets any worker take it.
        """

    def request_cleanup(self, database: str, table: str, partition: str | None) -> Compaction:
        """Add an entry READY_FOR_CLEANING without a compaction.

        It is for directories that no reader needs, although no compaction has replaced them. If a
        waiting entry already covers the request, the method returns that entry. A metastore that
        has its own cleaner raises UNSUPPORTED_FEATURE.CLEANUP.
        """

    def next_compaction(
        self, worker: str, compaction_id: int | None = None, chosen: WorkerLimits = NO_LIMITS
    ) -> Compaction | None:
        """Take the oldest INITIATED entry, make it WORKING and return it; None if there is none.

        Two workers never get the same entry. A metastore that runs all compactions itself returns
        None.

        Args:
            compaction_id: entry to take instead of the oldest. A server gives it only to the worker
                that has requested it.
            chosen: choice of the entries that the worker takes; a server ignores the sizes.
        """

    def compaction_given_back(self, compaction_id: int) -> None:
        """Change an entry from WORKING to INITIATED: its worker must end and has done nothing."""

    def abort_compaction(self, compaction_id: int) -> Compaction:
        """Change an entry from INITIATED to ABORTED; return the entry, changed or not.

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
        """Change an entry from WORKING to FAILED; the history retains it."""

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        """Change an entry from WORKING to REFUSED; the history retains it."""

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        """Return the READY_FOR_CLEANING entries whose old directories no transaction reads.

        Their ``next_txn_id`` is not above the lowest open transaction. A metastore that has its own
        cleaner returns none. The embedded metastore first deletes the directories of replaced
        tables that no transaction reads.
        """

    def compaction_cleaned(
        self, compaction_id: int, highest_write_id: int, kept: Sequence[tuple[int, int]] = ()
    ) -> None:
        """Change an entry from READY_FOR_CLEANING to SUCCEEDED.

        The metastore can forget aborted transactions if the cleaner has removed everything that
        they wrote up to this write id.

        Args:
            kept: ranges of the write ids of directories that stay and may contain rows of aborted
                writes.
        """

    def compaction_candidates(
        self, written_before: float | None = None
    ) -> tuple[CompactionCandidate, ...]:
        """Return the tables and partitions that the initiator must examine, oldest first.

        Args:
            written_before: seconds since 1970. Objects with a write before that time are candidates
                even if they have too few writes. None: only objects with enough writes are.
        """

    def compaction_looked(self, candidate: CompactionCandidate, look_after: int) -> None:
        """Record that the initiator has examined a candidate.

        Args:
            look_after: number of further writes after which the next examination is due.
        """

    def compactions(self) -> tuple[Compaction, ...]:
        """Return the entries of the queue and of the history, newest first."""

    @property
    def initiates_compactions(self) -> bool:
        """Return whether a server's own initiator is on, so that it requests compactions itself."""

    @property
    def cleans_compactions(self) -> bool:
        """Return whether a server's own cleaner is on, so that it removes directories itself."""

    def compactions_of(
        self, database: str, table: str, partition: str | None
    ) -> tuple[Compaction, ...]:
        """Return the entries of a partition, or of a table without partitions, newest first."""
