"""Protocol of a metastore: tables, partitions, transactions, write ids, locks, compactions.

It is modelled on the Hive Metastore's Thrift interface, so that one test suite can test both the
embedded metastore and Hive's. Semantics follow Hive 4 (``hive_metastore.thrift``, ``TxnHandler``).
Nothing here depends on Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.catalog_changes import CatalogChange
from acidsql.metastore.catalog_protocol import CatalogProtocol
from acidsql.metastore.comparison import Compared, ConcurrentWrite
from acidsql.metastore.history import HistoryEntry, RecordedStatement
from acidsql.metastore.model import (
    Capabilities,
    LockInfo,
    LockRequest,
    LockState,
    Operation,
    Table,
    TableOwner,
    TxnInfo,
    TxnType,
)
from acidsql.metastore.moments import Moment, TableVersion
from acidsql.metastore.queue_protocol import QueueProtocol
from acidsql.metastore.tags import Tag


class Metastore(CatalogProtocol, QueueProtocol, Protocol):
    """Contract of a metastore. Every method is atomic, and its effect is durable when it returns.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND, SCHEMA_NOT_FOUND or PARTITION_NOT_FOUND, by every
            method that takes the name of a table, database or partition.
        TransactionStateError: TXN_ABORTED or NO_SUCH_TXN, by every method that takes a transaction
            id.
        MetastoreError: by every method.
    """

    # -- transactions ---------------------------------------------------------------------------
    def open_txn(self, user: str, host: str, txn_type: TxnType = TxnType.DEFAULT) -> int:
        """Open a transaction and return its id; ids increase and are never reused."""

    def open_batch(self, user: str, host: str, count: int) -> tuple[int, ...]:
        """Open several transactions in one step; return their ids.

        The client uses them one after the other. A server may limit their number and open fewer.
        """

    def prepare_commit(self, txn_id: int, changes: Sequence[CatalogChange]) -> None:
        """Prepare the catalog changes of a transaction; the caller commits it next.

        An embedded metastore makes the changes and the commit in one step. The file operations of
        the changes follow. If this process ends before, the next use of the metastore completes
        them.

        A server has no such step. acidsql checks that the transaction is open and holds its locks.
        The server then makes one change after the other, and moves or deletes the files. If the
        transaction is aborted later, acidsql undoes the changes that can be undone, except where
        another client has made a further change.

        Raises:
            MetastoreError: FILE_OPERATION_PENDING, the directory of a new partition still contains
                files that were dropped before.
        """

    def concurrent_writes(self, txn_id: int) -> tuple[ConcurrentWrite, ...]:
        """Return the changes that the client must compare with its own, row by row.

        The client does so before it commits. They are changes of the same partitions by
        transactions that committed meanwhile. On both sides, delete events name the changed rows.

        A metastore that cannot compare rows (``Capabilities.compares_rows``) returns none.
        """

    def commit_txn(self, txn_id: int, compared: Compared | None = None) -> bool:
        """Commit a transaction and release its locks; do nothing if it is committed already.

        The metastore checks the write set. It aborts this transaction if another one committed
        after this one was opened, changed the same table or partition, and both updated or deleted
        rows there.

        Objects on which this transaction holds an EXCLUSIVE lock are exempt. It takes its snapshot
        of all transactions (``valid_txns`` without an argument) after the lock was granted, so it
        has seen all earlier commits. ``waiting_may_conflict`` describes an exception.

        Args:
            compared: concurrent writes that the client has compared by rows, so that they are not
                conflicts (``Capabilities.compares_rows``). None: the metastore compares partitions.
                A metastore that cannot compare rows ignores it.

        Returns:
            False if other transactions have committed that are not in ``compared``. The metastore
            has then changed nothing, and the client must compare these transactions too.

        Raises:
            WriteConflictError: CONCURRENT_WRITE; the message names both transactions and the
                object.
            MetastoreError: ``failures.REQUEST_NOT_SENT``, the request did not reach the metastore,
                so the transaction is open. After any other condition it may have committed.
        """

    @property
    def waiting_may_conflict(self) -> bool:
        """Return whether a change that an EXCLUSIVE lock waited for is a conflict (Hive 3.1)."""

    def abort_txn(self, txn_id: int) -> None:
        """Abort a transaction of this client and release its locks, unless it is aborted already.

        The client must no longer write files for it.
        """

    def abort_txns(self, txn_ids: Sequence[int]) -> None:
        """Abort transactions of any client, and release their locks (ABORT TRANSACTIONS).

        Transactions that are aborted already do not change. The clients may still be running, and
        may move directories to their final places before they notice the abort.
        """

    def require_open(self, txn_id: int) -> None:
        """Check that a transaction is open.

        Raises:
            TransactionStateError: TXN_ABORTED, TXN_COMMITTED or NO_SUCH_TXN.
        """

    def heartbeat(self, txn_ids: Sequence[int]) -> tuple[int, ...]:
        """Send heartbeats of these transactions; return those that are no longer open."""

    def valid_txns(self, txn_id: int | None = None) -> ValidTxnList:
        """Return the current snapshot: open and aborted transactions up to the highest id.

        With ``txn_id``, that transaction itself counts as valid. Hive's snapshot ends at that id,
        but this one does not. A transaction that opened later may have committed before one that
        opened earlier, and a reader that sees the second commit must also see the first.
        """

    def open_txns(self) -> tuple[TxnInfo, ...]:
        """Return the open and the aborted transactions, by id."""

    def reap(self) -> tuple[int, ...]:
        """Abort open transactions without a heartbeat within the time-out; return their ids.

        Every ``open_txn`` and ``lock`` does this too. A server does it by itself, so this method
        then does nothing and returns no ids.
        """

    @property
    def txn_timeout(self) -> float:
        """Seconds without a heartbeat after which a transaction is aborted."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of this metastore."""

    def seed_txn_id(self, next_txn_id: int) -> int:
        """Raise the next transaction id to at least ``next_txn_id``.

        The skipped ids count as committed. This is necessary if directories from another metastore
        have higher ids in their names. The
        name of a compaction's output contains the id of its transaction
        (``base_0000005_v0000123``).

        Returns:
            The highest transaction id that was allocated before.
        """

    # -- write ids ------------------------------------------------------------------------------
    def allocate_write_id(
        self, txn_id: int, database: str, table: str, statement: RecordedStatement | None = None
    ) -> int:
        """Return the write id of an open transaction for a table, allocated by the first call.

        Args:
            statement: the statement that the transaction runs on the table, for a metastore that
                keeps a history.
        """

    def allocate_write_ids(
        self,
        txn_ids: Sequence[int],
        database: str,
        table: str,
        statement: RecordedStatement | None = None,
    ) -> tuple[int, ...]:
        """Allocate the write ids of open transactions for a table in one step, without gaps.

        None of the transactions may have a write id for the table yet. No other transaction gets a
        write id between them, so one directory can contain the rows of all these transactions.

        Returns:
            The write ids in the order of the transactions, ascending.
        """

    def stream_offset(self, database: str, table: str, stream: str) -> int | None:
        """Return how far a stream has been written to a table, None if nothing was written.

        The change ``RecordOffset`` of a commit stores it. A metastore that cannot store it raises
        UNSUPPORTED_FEATURE.STREAM_OFFSET.
        """

    def stream_lock(self, database: str, table: str, stream: str) -> LockRequest | None:
        """Return the lock that a transaction takes just before it records the offset of a stream.

        The lock prevents two clients from recording an offset at the same time. None if the commit
        itself prevents that.
        """

    def history(self, database: str, table: str, limit: int | None) -> tuple[HistoryEntry, ...]:
        """Return the write ids of a table and its compactions, newest first, at most ``limit``.

        A metastore that keeps no history returns none.
        """

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a snapshot sees.

        The rules come from Hive's TxnCommonUtils and GetValidWriteIdsForTableFunction.
        """

    def find_version(self, database: str, table: str, moment: Moment) -> TableVersion:
        """Return the version of a table that was current at a moment.

        Version n contains everything that was committed when write id n committed. A server does
        not report the order of commits. On a server, version n therefore contains the write ids up
        to n, and none of them may still be open.

        Raises:
            AcidAnalysisError: VERSION_NOT_FOUND, there was no version; HISTORY_NOT_AVAILABLE, the
                version can no longer be read, or its contents are unknown;
                VERSION_HAS_OTHER_COLUMNS; UNSUPPORTED_FEATURE.TIME_TRAVEL, a server cannot find
                this kind of moment.
        """

    def with_recorded_columns(self, before: Table, after: Table, write_id: int) -> Table:
        """Add to a new definition the columns of older versions, for ``find_version``.

        A metastore that keeps these columns by itself returns ``after`` unchanged.

        Args:
            before: the table under the lock of the transaction.
            after: its new definition.
            write_id: write id of the transaction.

        Returns:
            The definition that the commit must give to the table.
        """

    def hold_history(
        self, txn_id: int, database: str, table: str, version: TableVersion
    ) -> Mapping[str | None, int] | None:
        """Protect the directories that a version of a table reads while a transaction is open.

        The call holds back the cleaners that acidsql runs. It cannot hold back a server's cleaner.
        Call it before you list the table's directories.

        Returns:
            Write ids of bases by the name of the partition, or None for the whole table. In these
            places, directories of older versions have been removed or may be removed at any moment.
            None instead of a mapping if removals were not recorded.
        """

    def held_location(
        self, table: Table, txn_id: int
    ) -> AbstractContextManager[frozenset[tuple[str, ...]] | None]:
        """Hold the location of a table while a block deletes what a transaction wrote there.

        A transaction that has timed out holds no locks. Its table may have been dropped, and
        another table may have been created at the same location, with directories of the same
        names.

        An embedded metastore changes no definition while the block runs, and the block must not
        call it. A server is only asked before the block.

        Args:
            table: the table, at the location where the transaction wrote.
            txn_id: the transaction.

        Yields:
            Values of the partitions that an embedded metastore knows at the location. None if the
            location belongs to another table, so that the block must not delete anything.
        """

    def start_removal(
        self,
        database: str,
        table: str,
        partition: str | None,
        write_id: int,
        tags: Collection[int] = (),
    ) -> bool:
        """Record that a cleaner is about to remove directories that older versions may need.

        These are the versions that do not contain all write ids up to ``write_id``.

        Args:
            tags: ids of the tags whose directories stay.

        Returns:
            False if an open transaction reads one of these versions, or if there is another tag.
            The cleaner must then remove nothing.
        """

    def create_tag(
        self, database: str, table: str, name: str, moment: Moment | None, retain: float | None
    ) -> Tag:
        """Create a tag: a name for a version whose directories cleaners retain.

        Args:
            moment: moment of the version; None for the current version.
            retain: seconds until the tag expires; None: it never expires.

        Raises:
            AcidAnalysisError: TAG_ALREADY_EXISTS; the conditions of ``find_version``;
                UNSUPPORTED_FEATURE.TAGS, the metastore is a server, which cleans by itself.
        """

    def drop_tag(self, database: str, table: str, name: str) -> None:
        """Drop a tag.

        Raises:
            AcidLookupError: TAG_NOT_FOUND.
            AcidAnalysisError: UNSUPPORTED_FEATURE.TAGS.
        """

    def tags(self, database: str, table: str) -> Sequence[Tag]:
        """Return the tags of a table, including expired ones, in the order of their versions."""

    def oldest_version(self, database: str, table: str, write_id: int) -> int | None:
        """Return the oldest version that contains all committed write ids up to ``write_id``.

        None if there is no such version yet.
        """

    def hold_back_cleaner(
        self, txn_id: int, database: str, table: str, txns: ValidTxnList
    ) -> ValidTxnList:
        """Protect the directories that a snapshot of a table reads while a transaction is open.

        Most cleaners wait for every transaction that is open when a compaction commits. This method
        then does nothing. Call it before you list the table's directories.

        Args:
            txn_id: the transaction.
            txns: transactions that the snapshot sees.

        Returns:
            The transactions whose compactions the statement must read. A compaction may have
            committed after the snapshot. The directories that it replaced may be gone already, and
            its output has the same rows.
        """

    def seed_write_id(self, database: str, table: str, next_write_id: int) -> None:
        """Raise the next write id of a table to at least ``next_write_id``.

        The skipped ids count as committed. This is necessary if the table's directories have higher
        write ids than this metastore has allocated.
        """

    def table_owner(self, database: str, table: str) -> TableOwner | None:
        """Return the owner of a table's directory: a table of a metastore.

        None if no other metastore can claim the directory, as with a server.
        """

    def table_identity(self, database: str, table: str) -> str:
        """Return the identity of a table; a table that is created in its place has another one.

        A rename keeps the identity, except on a server of Hive 3, which does not number tables.
        """

    def has_dropped(self, owner: TableOwner) -> bool:
        """Return whether a table belonged to this metastore and has been dropped."""

    def write_ids_after(self, database: str, table: str, write_id: int) -> frozenset[int]:
        """Return the write ids above ``write_id`` that transactions of this metastore were given.

        The result does not include ids that ``seed_write_id`` skipped.
        """

    def next_write_id(self, database: str, table: str) -> int:
        """Return the write id that the next allocation would return."""

    # -- locks ----------------------------------------------------------------------------------
    def lock(self, txn_id: int, requests: Sequence[LockRequest]) -> LockState:
        """Request all locks of a statement: either all are granted, or all wait.

        Requests wait in the order of arrival. INSERT, UPDATE and DELETE requests also enter the
        transaction's write set. A dynamic-partition request enters it as a placeholder, until
        ``add_dynamic_partitions``.
        """

    def check_lock(self, txn_id: int) -> LockState:
        """Check whether the locks requested with ``lock`` are granted; counts as a heartbeat."""

    def withdraw_locks(self, txn_id: int) -> None:
        """Withdraw the waiting lock requests of an open transaction, which continues without them.

        The entries that these requests made in the write set stay.
        """

    def blockers(self, txn_id: int) -> tuple[LockInfo, ...]:
        """Return the locks of other transactions that this transaction's requests wait for."""

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

    def close(self) -> None:
        """Close the connections."""
