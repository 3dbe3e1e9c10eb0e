"""What acidsql needs of a metastore: tables, partitions, transactions,
write ids, locks, compactions.

Shaped like the Hive Metastore's Thrift interface, so that one behaviour suite serves the embedded
store and Hive's. Semantics follow Hive 4 (``hive_metastore.thrift``, ``TxnHandler``). Nothing here
knows Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import (
    Capabilities,
    Compaction,
    CompactionType,
    LockInfo,
    LockRequest,
    LockState,
    Operation,
    Partition,
    PlainTable,
    Table,
    TxnInfo,
    TxnType,
)


class Metastore(Protocol):
    """The contract. All methods are atomic, and durable when they return.

    Raises (everywhere): ``AcidLookupError`` (TABLE_OR_VIEW_NOT_FOUND, SCHEMA_NOT_FOUND,
    PARTITION_NOT_FOUND), ``TransactionStateError`` (TXN_ABORTED, NO_SUCH_TXN), ``MetastoreError``.
    """

    # -- catalog --------------------------------------------------------------------------------
    def create_database(self, name: str, location: str, comment: str | None = None) -> None:
        """Create a database; SCHEMA_ALREADY_EXISTS if it is there."""

    def drop_database(self, name: str) -> None:
        """Drop an empty database; SCHEMA_NOT_EMPTY otherwise."""

    def databases(self) -> tuple[str, ...]:
        """Names, sorted. ``default`` always exists."""

    def database_location(self, name: str) -> str:
        """Location URI of a database ('' for ``default`` until something else is known)."""

    def create_table(self, table: Table) -> None:
        """Create a table or view; TABLE_OR_VIEW_ALREADY_EXISTS if the name is taken."""

    def drop_table(self, database: str, name: str) -> None:
        """Forget a table with its partitions, write ids, locks and queue entries.
        Files are the caller's.
        """

    def alter_table(self, table: Table) -> None:
        """Replace the definition of a table of the same name."""

    def rename_table(self, database: str, name: str, new_database: str, new_name: str) -> None:
        """Give a table another name; its partitions, write ids and history stay.
        TABLE_OR_VIEW_ALREADY_EXISTS if that is taken. A server moves the files of a table that lies
        in its default place; the location tells. Otherwise files are the caller's.
        """

    def table(self, database: str, name: str) -> Table:
        """The table; case-insensitive."""

    def find_table(self, database: str, name: str) -> Table | None:
        """The table, or None."""

    def plain_table(self, database: str, name: str) -> PlainTable | None:
        """A table of the server's that is not transactional; None without one, and without a
        server.
        """

    def convert_table(self, plain: PlainTable) -> None:
        """Make a plain table transactional: one of the server's, or without a server one that
        another catalog knew until now. Its write ids start above those that Hive reserves for the
        rows that it has.
        """

    def tables(self, database: str) -> tuple[str, ...]:
        """Names of tables and views of a database, sorted."""

    def table_at(self, location: str, database: str) -> Table | None:
        """A managed table that lies at a place, above it or below it; None if there is none. A
        server cannot be asked that, and has many tables: those of this database are looked at, of
        ``default``, and of databases that the path names (``/sales.db/``).
        """

    def add_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Add partitions; those that exist already are left as they are."""

    def drop_partitions(self, database: str, table: str, values: Iterable[tuple[str, ...]]) -> None:
        """Forget partitions."""

    def alter_partitions(self, database: str, table: str, partitions: Iterable[Partition]) -> None:
        """Replace the location and columns of partitions, by their values; PARTITION_NOT_FOUND
        if one is not there.
        """

    def rename_partition(
        self, database: str, table: str, values: tuple[str, ...], renamed: Partition
    ) -> None:
        """Give a partition other values (and perhaps another location); PARTITION_NOT_FOUND,
        PARTITION_ALREADY_EXISTS. A server moves its files to a location that does not exist yet;
        otherwise files are the caller's.
        """

    def partition_values(self, database: str, table: str) -> tuple[tuple[str, ...], ...]:
        """The values of all partitions, sorted: cheaper than the partitions themselves."""

    def partitions(
        self, database: str, table: str, values: Iterable[tuple[str, ...]] | None = None
    ) -> tuple[Partition, ...]:
        """The partitions of these values (all of them by default), sorted by values; values that
        no partition has are left out.
        """

    # -- transactions ---------------------------------------------------------------------------
    def open_txn(self, user: str, host: str, txn_type: TxnType = TxnType.DEFAULT) -> int:
        """Open a transaction; ids grow and are never given twice."""

    def commit_txn(self, txn_id: int) -> None:
        """Commit. Checks the write set: if a transaction that committed after this one opened
        changed (UPDATE or DELETE, both sides) the same table or partition, this one is aborted
        and ``WriteConflictError`` (CONCURRENT_WRITE) names both transactions and the object.
        Not so where this one holds an EXCLUSIVE lock: it takes its snapshot when that is granted,
        of all transactions (``valid_txns`` without an argument).
        Committing a committed transaction again does nothing. Releases its locks.

        What committed before this one got an exclusive lock on the object is no conflict, but
        where ``waiting_may_conflict``.
        """

    @property
    def waiting_may_conflict(self) -> bool:
        """Whether also what an exclusive lock was waited for counts as a conflict (Hive 3.1)."""

    def abort_txn(self, txn_id: int) -> None:
        """Abort. Aborting an aborted transaction again does nothing. Releases its locks."""

    def heartbeat(self, txn_ids: Sequence[int]) -> tuple[int, ...]:
        """Say that these transactions live; returns those that are not open any more."""

    def valid_txns(self, txn_id: int | None = None) -> ValidTxnList:
        """The snapshot now: open and aborted transactions up to the highest id (to ``txn_id``
        when given, which itself counts as valid).
        """

    def open_txns(self) -> tuple[TxnInfo, ...]:
        """Open and aborted transactions, by id."""

    def reap(self) -> tuple[int, ...]:
        """Abort open transactions whose last heartbeat is older than the time-out; returns them.
        Called by every open_txn and lock as well. A server does it by itself, and returns nothing.
        """

    @property
    def txn_timeout(self) -> float:
        """Seconds without a heartbeat after which a transaction is aborted."""

    @property
    def capabilities(self) -> Capabilities:
        """What this metastore does by itself."""

    def seed_txn_id(self, next_txn_id: int) -> int:
        """Make sure that no transaction id below ``next_txn_id`` is ever given; those never
        given here count as committed. For directories that know more than this store: the output
        of a compaction carries its transaction's id (``base_0000005_v0000123``). Returns the
        highest id given before.
        """

    # -- write ids ------------------------------------------------------------------------------
    def allocate_write_id(self, txn_id: int, database: str, table: str) -> int:
        """The write id of this open transaction for a table (the same one when asked again)."""

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        """The write ids that a snapshot sees (TxnCommonUtils, GetValidWriteIdsForTableFunction)."""

    def seed_write_id(self, database: str, table: str, next_write_id: int) -> None:
        """Make sure that no write id below ``next_write_id`` is ever given again;
        those never allocated here count as committed. For tables whose directories
        know more than this store.
        """

    def next_write_id(self, database: str, table: str) -> int:
        """The write id that the next allocation would return."""

    # -- locks ----------------------------------------------------------------------------------
    def lock(self, txn_id: int, requests: Sequence[LockRequest]) -> LockState:
        """Ask for all locks of a statement at once: all are granted or all wait, first come first
        served. INSERT, UPDATE and DELETE requests also enter the transaction's write set (a
        dynamic-partition request only as a placeholder, until ``add_dynamic_partitions``).
        """

    def check_lock(self, txn_id: int) -> LockState:
        """Ask again for the locks of ``lock``; counts as a heartbeat."""

    def blockers(self, txn_id: int) -> tuple[LockInfo, ...]:
        """The locks that this transaction's waiting requests wait for."""

    def locks(self) -> tuple[LockInfo, ...]:
        """All locks, by id."""

    def add_dynamic_partitions(
        self,
        txn_id: int,
        database: str,
        table: str,
        partitions: Sequence[str],
        operation: Operation,
    ) -> None:
        """Record the partitions that a dynamic-partition statement wrote, in the write set."""

    def record_writes(
        self, txn_id: int, database: str, table: str, written: Sequence[Partition]
    ) -> None:
        """Say, before the commit, that a transaction has written into these partitions, or into a
        table that has none. Partitions that are missing are added; statistics that others answer
        queries from count no longer.
        """

    # -- compaction queue -----------------------------------------------------------------------
    def request_compaction(
        self,
        database: str,
        table: str,
        partition: str | None,
        compaction_type: CompactionType,
        worker: str | None = None,
    ) -> Compaction:
        """Queue a compaction. The answer is in state REFUSED, with the reason in ``error``, when
        the same object is queued or being worked on already (CompactFunction).

        Args:
            worker: who will take it; its name is not used for any other request. None leaves it to
                anybody.
        """

    def next_compaction(self, worker: str, compaction_id: int | None = None) -> Compaction | None:
        """Take the oldest INITIATED entry (or that one, which this worker has requested) and make
        it WORKING; never given to two workers. None if there is none, or the metastore keeps the
        work for itself.
        """

    def compaction_started(self, compaction_id: int, txn_id: int, highest_write_id: int) -> None:
        """Record the compactor's transaction and the highest write id of its snapshot."""

    def compaction_done(self, compaction_id: int) -> None:
        """WORKING → READY_FOR_CLEANING; ``next_txn_id`` is set when the transaction
        commits (or now, for an entry without one): once nothing below it is open, nobody
        can need the old directories.
        """

    def compaction_failed(self, compaction_id: int, error: str) -> None:
        """WORKING → FAILED; kept in the history."""

    def compaction_refused(self, compaction_id: int, reason: str) -> None:
        """WORKING → REFUSED; kept in the history."""

    def ready_to_clean(self) -> tuple[Compaction, ...]:
        """READY_FOR_CLEANING entries whose ``next_txn_id`` is not above
        the lowest open transaction; none where the metastore has a cleaner of its own.
        """

    def compaction_cleaned(self, compaction_id: int, highest_write_id: int) -> None:
        """READY_FOR_CLEANING → SUCCEEDED; aborted transactions that only wrote what was cleaned,
        up to this write id, may be forgotten.
        """

    def compactions(self) -> tuple[Compaction, ...]:
        """Queue and history, newest first."""

    def close(self) -> None:
        """Release connections."""
