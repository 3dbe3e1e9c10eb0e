"""Protocol of a metastore: tables, partitions, transactions, write ids, locks, compactions.

It is shaped like the Hive Metastore's Thrift interface, so that one behaviour suite tests the
embedded metastore and Hive's. Semantics follow Hive 4 (``hive_metastore.thrift``, ``TxnHandler``).
Nothing here depends on Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Protocol

from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.changes import CatalogChange
from acidsql.metastore.comparison import Compared, Rival
from acidsql.metastore.history import HistoryEntry, RecordedStatement
from acidsql.metastore.model import (
    NO_LIMITS,
    NO_OPTIONS,
    Capabilities,
    Compaction,
    CompactionCandidate,
    CompactionOptions,
    CompactionType,
    LockInfo,
    LockRequest,
    LockState,
    Operation,
    Partition,
    PlainTable,
    Table,
    TableOwner,
    TxnInfo,
    TxnType,
    WorkerLimits,
)
from acidsql.metastore.table_statistics import Statistics


class Metastore(Protocol):
    """Contract of a metastore. Every method is atomic, and its effect is durable when it returns.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, SCHEMA_NOT_FOUND or PARTITION_NOT_FOUND, by every
            method that takes such a name.
        TransactionStateError: TXN_ABORTED or NO_SUCH_TXN, by every method that takes a transaction
            id.
        MetastoreError: by every method.
    """

    # -- catalog --------------------------------------------------------------------------------
    def create_database(
        self,
        name: str,
        location: str,
        comment: str | None = None,
        properties: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        """Create a database.

        Raises:
            AcidAnalysisError: SCHEMA_ALREADY_EXISTS.
        """

    def drop_database(self, name: str) -> None:
        """Drop an empty database.

        Raises:
            AcidAnalysisError: SCHEMA_NOT_EMPTY.
        """

    def databases(self) -> tuple[str, ...]:
        """Return the names of all databases, sorted; ``default`` always exists."""

    def database_location(self, name: str) -> str:
        """Return the location URI of a database ('' for ``default`` as long as none was set)."""

    def database_properties(self, name: str) -> Mapping[str, str]:
        """Return the properties of a database (``DBPROPERTIES``)."""

    def change_database_properties(self, name: str, changes: Mapping[str, str | None]) -> None:
        """Set properties of a database; the value None removes one. The others stay."""

    def create_table(
        self,
        table: Table,
        partitions: Iterable[Partition] = (),
        highest_write_id: int = 0,
        highest_txn_id: int = 0,
    ) -> None:
        """Create a table or view.

        Args:
            table: the table.
            partitions: its partitions, if its directory has some already.
            highest_write_id: highest write id in the names of its directories; later ones are
                above it.
            highest_txn_id: the same of transaction ids.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def stage_table(self, txn_id: int, table: Table) -> Table:
        """Create a table for a transaction; the change ``ShowTable`` of its commit finishes it.

        Nothing is left of it if the transaction does not commit. A server shows it to everybody at
        once, and keeps it then if others have written to it.

        Returns:
            Its definition until the commit, perhaps with another name.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def drop_table(self, database: str, name: str) -> None:
        """Remove a table from the catalog, with its partitions, write ids, locks and queue entries.

        Its files stay; the change ``DropTable`` of a commit deletes them too.
        """

    def alter_table(self, table: Table) -> None:
        """Replace the definition of the table that has the same name."""

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        """Rename a table, perhaps into another database; partitions, write ids and history stay.

        A server moves the files of a table that lies in its default place; read the location
        afterwards. Otherwise the caller moves the files.

        Raises:
            AcidAnalysisError: TABLE_OR_VIEW_ALREADY_EXISTS.
        """

    def table(self, database: str, name: str) -> Table:
        """Return a table or view; names are case-insensitive."""

    def find_table(self, database: str, name: str) -> Table | None:
        """Return a table or view, or None if there is none of that name."""

    def plain_table(self, database: str, name: str) -> PlainTable | None:
        """Return the server's table of this name if it is not transactional, else None.

        A metastore without a server has no such tables, and returns None.
        """

    def convert_table(self, plain: PlainTable) -> None:
        """Make a plain table transactional.

        The table is the server's, or, without a server, one that another catalog had until now. Its
        write ids start above those that Hive reserves for the rows that the table has already.
        """

    def tables(self, database: str) -> tuple[str, ...]:
        """Return the names of tables and views of a database, sorted."""

    def table_at(self, location: str, database: str) -> Table | None:
        """Return a managed table whose location equals, contains or lies within a location, or
        None.

        A Hive Metastore has no such call and may have many tables. So only some databases are
        searched: this one, ``default``, and those that the path names (``/sales.db/``).
        """

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Add partitions; those that exist already are left unchanged."""

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """Remove partitions from the catalog; their files stay (see ``DropPartitions``)."""

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Replace the location and columns of partitions, found by their values.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND, one of them does not exist.
        """

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        """Change the values of a partition, and perhaps its location.

        A server moves the files, if the new location does not exist yet; otherwise the caller does.

        Raises:
            AcidLookupError: PARTITION_NOT_FOUND.
            AcidAnalysisError: PARTITION_ALREADY_EXISTS.
        """

    def partition_values(self, database: str, table: str) -> tuple[tuple[str, ...], ...]:
        """Return the values of all partitions, sorted; cheaper than ``partitions``."""

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        """Return the partitions with these values (by default all), sorted by values.

        Values that no partition has are left out.
        """

    def statistics(
        self, table: Table, partition: tuple[str, ...] | None, columns: Sequence[str] = ()
    ) -> Statistics | None:
        """Return the statistics of a table, or None if there are none; the change
        ``RecordStatistics`` of a commit keeps them.

        Args:
            partition: values of the partition that they are about, None for the whole table.
            columns: names of the columns whose statistics are wanted as well.
        """

    # -- transactions ---------------------------------------------------------------------------
    def open_txn(self, user: str, host: str, txn_type: TxnType = TxnType.DEFAULT) -> int:
        """Open a transaction and return its id; ids increase and are never given twice."""

    def open_batch(self, user: str, host: str, count: int) -> tuple[int, ...]:
        """Open transactions that write one after the other, all in one step; return their ids.

        A server may limit their number, and give fewer.
        """

    def prepare_commit(self, txn_id: int, changes: Sequence[CatalogChange]) -> None:
        """Take the changes of the catalog that a transaction makes at its commit, which is next.

        An embedded metastore makes them in one step with the commit. Their file operations follow,
        and are completed by the next use of the metastore if this process ends before. A server
        knows no such step. It is asked whether the transaction is open and has its locks, and makes
        one change after the other, with its files; if the transaction is aborted after all, what
        can be taken back is taken back, unless others have changed it since.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, what was dropped before is still in the place of
                a new partition.
        """

    def rivals(self, txn_id: int) -> tuple[Rival, ...]:
        """Return the changes that a transaction's client compares with its own, row by row, before
        the commit: those that would be conflicts if the partition were the unit, and of which
        delete events name the rows, as they do its own.

        A metastore that cannot compare rows (``Capabilities.compares_rows``) returns none.
        """

    def commit_txn(self, txn_id: int, compared: Compared | None = None) -> bool:
        """Commit a transaction and release its locks; a committed one is left as it is.

        The write set is checked: if a transaction that committed after this one was opened changed
        the same table or partition, and both updated or deleted, this one is aborted. An object on
        which it holds an EXCLUSIVE lock is exempt: it takes its snapshot of all transactions
        (``valid_txns`` without an argument) once that lock is granted, and so has seen what was
        committed before; see ``waiting_may_conflict`` for an exception.

        Args:
            compared: what the client has compared by rows (``Capabilities.compares_rows``). Those
                rivals are no conflicts; None makes the partition the unit. A metastore that cannot
                compare rows ignores it.

        Returns:
            False if others have committed meanwhile that are not in ``compared``: nothing was
            done, and they are to be compared too.

        Raises:
            WriteConflictError: CONCURRENT_WRITE; the message names both transactions and the
                object.
        """

    @property
    def waiting_may_conflict(self) -> bool:
        """Return whether changes that an EXCLUSIVE lock waited for are conflicts (Hive 3.1)."""

    def abort_txn(self, txn_id: int) -> None:
        """Abort a transaction of this client, and release its locks; an aborted one is left as it
        is.

        The client writes nothing under it any more.
        """

    def abort_txns(self, txn_ids: Sequence[int]) -> None:
        """Abort transactions of any client, and release their locks (ABORT TRANSACTIONS).

        Aborted ones are left as they are. Their clients may be at work, and move directories to
        their places before they notice.
        """

    def require_open(self, txn_id: int) -> None:
        """Check that a transaction is open.

        Raises:
            TransactionStateError: TXN_ABORTED, TXN_COMMITTED or NO_SUCH_TXN.
        """

    def heartbeat(self, txn_ids: Sequence[int]) -> tuple[int, ...]:
        """Send heartbeats of these transactions; return those that are not open any more."""

    def valid_txns(self, txn_id: int | None = None) -> ValidTxnList:
        """Return the current snapshot: open and aborted transactions up to the highest id.

        With ``txn_id`` the snapshot ends at that id, and that transaction itself counts as valid.
        """

    def open_txns(self) -> tuple[TxnInfo, ...]:
        """Return the open and the aborted transactions, by id."""

    def reap(self) -> tuple[int, ...]:
        """Abort open transactions whose last heartbeat is older than the time-out; return their
        ids.

        Every ``open_txn`` and ``lock`` does this too. A server does it by itself: then nothing is
        done here and nothing is returned.
        """

    @property
    def txn_timeout(self) -> float:
        """Seconds without a heartbeat after which a transaction is aborted."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of this metastore."""

    def seed_txn_id(self, next_txn_id: int) -> int:
        """Raise the next transaction id to at least ``next_txn_id``; skipped ids count as
        committed.

        For directories that this metastore did not write, whose names have higher ids: the output
        of a compaction carries the id of its transaction (``base_0000005_v0000123``).

        Returns:
            The highest transaction id that was given before.
        """

    # -- write ids ------------------------------------------------------------------------------
    def allocate_write_id(
        self, txn_id: int, database: str, table: str, statement: RecordedStatement | None = None
    ) -> int:
        """Return the write id of an open transaction for a table, allocated by the first call.

        Args:
            statement: what the transaction does to the table, for a metastore that keeps a history.
        """

    def allocate_write_ids(
        self,
        txn_ids: Sequence[int],
        database: str,
        table: str,
        statement: RecordedStatement | None = None,
    ) -> tuple[int, ...]:
        """Allocate the write ids of open transactions for a table in one step, without gaps.

        None of the transactions may have one yet. Nobody else gets a write id between two of them,
        so one directory can hold the rows of them all.

        Returns:
            The write ids in the order of the transactions, ascending.
        """

    def stream_offset(self, database: str, table: str, stream: str) -> int | None:
        """Return how far a stream has been read into a table, None if nothing was.

        The change ``RecordOffset`` of a commit keeps it. A metastore that cannot keep it raises
        UNSUPPORTED_FEATURE.STREAM_OFFSET.
        """

    def history(self, database: str, table: str, limit: int | None) -> tuple[HistoryEntry, ...]:
        """Return the write ids of a table and its compactions, newest first, at most ``limit``.

        A metastore that keeps no history returns none.
        """

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a snapshot sees.

        The rules are those of Hive's TxnCommonUtils and GetValidWriteIdsForTableFunction.
        """

    def hold_back_cleaner(
        self, txn_id: int, database: str, table: str, txns: ValidTxnList
    ) -> ValidTxnList:
        """Keep what a snapshot of a table reads from being cleaned while a transaction is open.

        Most cleaners wait for every transaction that is open when a compaction commits; then this
        does nothing. It comes before the table is listed.

        Args:
            txn_id: the transaction.
            txns: transactions that the snapshot sees.

        Returns:
            The transactions whose compactions are read: a compaction that has committed after the
            snapshot was taken may be cleaned already, and has the same rows.
        """

    def seed_write_id(self, database: str, table: str, next_write_id: int) -> None:
        """Raise the next write id of a table to at least ``next_write_id``.

        Ids that were never allocated here then count as committed. For tables whose directories
        have higher write ids than this metastore knows.
        """

    def table_owner(self, database: str, table: str) -> TableOwner | None:
        """Return which table of which metastore a table's directory belongs to; None if nobody else
        can take it for its own, as on a server.
        """

    def has_dropped(self, owner: TableOwner) -> bool:
        """Return whether a table was one of this metastore, and is gone."""

    def write_ids_after(self, database: str, table: str, write_id: int) -> frozenset[int]:
        """Return the write ids above one that were given to transactions of this metastore.

        Those that ``seed_write_id`` skipped are not among them.
        """

    def next_write_id(self, database: str, table: str) -> int:
        """Return the write id that the next allocation would return."""

    # -- locks ----------------------------------------------------------------------------------
    def lock(self, txn_id: int, requests: Sequence[LockRequest]) -> LockState:
        """Request all locks of a statement at once: all are granted, or all wait in the order of
        arrival.

        INSERT, UPDATE and DELETE requests also enter the transaction's write set. A
        dynamic-partition request enters as a placeholder, until ``add_dynamic_partitions``.
        """

    def check_lock(self, txn_id: int) -> LockState:
        """Check whether the locks requested with ``lock`` are granted; counts as a heartbeat."""

    def withdraw_locks(self, txn_id: int) -> None:
        """Withdraw the lock requests of an open transaction that still wait; it goes on without
        them.

        The write set keeps what was entered with them.
        """

    def blockers(self, txn_id: int) -> tuple[LockInfo, ...]:
        """Return the locks of others that this transaction's waiting requests wait for."""

    def locks(self) -> tuple[LockInfo, ...]:
        """Return all locks, by id."""

    def add_dynamic_partitions(
        self,
        txn_id: int,
        database: str,
        table: str,
        partitions: Sequence[str],
        operation: Operation,
    ) -> None:
        """Record in the write set the partitions to which a dynamic-partition statement wrote."""

    # -- compaction queue -----------------------------------------------------------------------
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
            worker: name of the worker that will take the entry, used for this request alone; None
                lets any worker take it.
        """

    def request_cleanup(self, database: str, table: str, partition: str | None) -> Compaction:
        """Add an entry READY_FOR_CLEANING, for directories that nobody needs and no compaction has
        made obsolete.

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
        without one). Once no transaction below it is open, nobody needs the old directories.
        """

    def compaction_failed(self, compaction_id: int, error: str) -> None:
        """Change an entry from WORKING to FAILED; it stays in the history."""

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        """Change an entry from WORKING to REFUSED; it stays in the history."""

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        """Return the READY_FOR_CLEANING entries whose old directories nobody reads any more.

        These have a ``next_txn_id`` that is not above the lowest open transaction. A metastore with
        a cleaner of its own returns none.
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

    def compactions_of(
        self, database: str, table: str, partition: str | None
    ) -> tuple[Compaction, ...]:
        """Return the entries of a partition, or of a table without partitions, newest first."""

    def close(self) -> None:
        """Close the connections."""
