"""Protocol of a metastore: tables, partitions, transactions, write ids, locks, compactions.

It is shaped like the Hive Metastore's Thrift interface, so that one behaviour suite tests the
embedded metastore and Hive's. Semantics follow Hive 4 (``hive_metastore.thrift``, ``TxnHandler``).
Nothing here depends on Spark.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.catalog_protocol import CatalogProtocol
from acidsql.metastore.changes import CatalogChange
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
            method that takes such a name.
        TransactionStateError: TXN_ABORTED or NO_SUCH_TXN, by every method that takes a transaction
            id.
        MetastoreError: by every method.
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

    def concurrent_writes(self, txn_id: int) -> tuple[ConcurrentWrite, ...]:
        """Return the changes that a transaction's client compares with its own, row by row, before
        the commit.

        They would be conflicts if the partition were the unit. Delete events name the rows of both.

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
                concurrent writes are no conflicts. None makes the partition the unit. A metastore
                that cannot compare rows ignores it.

        Returns:
            False if others have committed meanwhile that are not in ``compared``: nothing was
            done, and they are to be compared too.

        Raises:
            WriteConflictError: CONCURRENT_WRITE; the message names both transactions and the
                object.
            MetastoreError: ``failures.NOT_ASKED``, the metastore was not asked: the transaction is
                open. After another one it may have committed.
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

        With ``txn_id`` that transaction itself counts as valid. The snapshot does not end there, as
        Hive's does: a transaction that opened later may have committed before one that opened
        earlier, and a reader that sees the second commit must see the first.
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

        None of the transactions may have one yet. No other transaction gets a write id between
        two of them, so one directory can hold the rows of them all.

        Returns:
            The write ids in the order of the transactions, ascending.
        """

    def stream_offset(self, database: str, table: str, stream: str) -> int | None:
        """Return how far a stream has been read into a table, None if nothing was.

        The change ``RecordOffset`` of a commit keeps it. A metastore that cannot keep it raises
        UNSUPPORTED_FEATURE.STREAM_OFFSET.
        """

    def stream_lock(self, database: str, table: str, stream: str) -> LockRequest | None:
        """Return the lock that a transaction takes just before it records the offset of a stream.

        The lock keeps two clients from recording one. None if the commit itself prevents that.
        """

    def history(self, database: str, table: str, limit: int | None) -> tuple[HistoryEntry, ...]:
        """Return the write ids of a table and its compactions, newest first, at most ``limit``.

        A metastore that keeps no history returns none.
        """

    def valid_write_ids(self, database: str, table: str, txns: ValidTxnList) -> ValidWriteIdList:
        """Return the write ids of a table that a snapshot sees.

        The rules are those of Hive's TxnCommonUtils and GetValidWriteIdsForTableFunction.
        """

    def find_version(self, database: str, table: str, moment: Moment) -> TableVersion:
        """Return the version of a table that was there at a moment.

        Version n is what was committed when write id n committed. A server does not report the
        order of commits: there it is the write ids up to n, and none of them may be open any more.

        Raises:
            AcidAnalysisError: VERSION_NOT_FOUND, there was none; HISTORY_NOT_AVAILABLE, it cannot
                be read any more, or what it had is unknown; VERSION_HAS_OTHER_COLUMNS;
                UNSUPPORTED_FEATURE.TIME_TRAVEL, a server does not know such a moment.
        """

    def with_recorded_columns(self, before: Table, after: Table, write_id: int) -> Table:
        """Return the definition that a commit gives a table, such that ``find_version`` can find
        the columns of older versions. A metastore that keeps them by itself returns ``after``.

        Args:
            before: the table under the lock of the transaction.
            after: its new definition.
            write_id: of the transaction.
        """

    def hold_history(
        self, txn_id: int, database: str, table: str, version: TableVersion
    ) -> Mapping[str | None, int] | None:
        """Keep what a version of a table reads from being removed while a transaction is open.

        Cleaners that acidsql runs are held back; a server's own cannot be. It comes before the
        table is listed.

        Returns:
            The write ids of bases, by the names of partitions or None: for these, directories of
            older versions have been removed or may be at any moment. None if there is no record of
            what was removed.
        """

    def start_removal(
        self,
        database: str,
        table: str,
        partition: str | None,
        write_id: int,
        tags: Collection[int] = (),
    ) -> bool:
        """Record that directories are about to be removed that versions may need which do not have
        all up to a write id.

        Args:
            tags: ids of the tags whose directories stay.

        Returns:
            False if an open transaction reads such a version, or there is another tag; then nothing
            may be removed.
        """

    def create_tag(
        self, database: str, table: str, name: str, moment: Moment | None, retain: float | None
    ) -> Tag:
        """Create a tag, a name of a version that cleaners keep.

        Args:
            moment: of the version; None for what is committed now.
            retain: seconds for which it is kept; None: until it is dropped.

        Raises:
            AcidAnalysisError: TAG_ALREADY_EXISTS; see ``find_version``; UNSUPPORTED_FEATURE.TAGS, a
                server cleans by itself.
        """

    def drop_tag(self, database: str, table: str, name: str) -> None:
        """Drop a tag.

        Raises:
            AcidLookupError: TAG_NOT_FOUND.
            AcidAnalysisError: UNSUPPORTED_FEATURE.TAGS.
        """

    def tags(self, database: str, table: str) -> Sequence[Tag]:
        """Return the tags of a table, expired ones too, in the order of their versions."""

    def oldest_version(self, database: str, table: str, write_id: int) -> int | None:
        """Return the oldest version that has all that was committed up to a write id; None if there
        is none yet.
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
        """Return the owner of a table's directory: a table of a metastore.

        None if no other metastore can take the directory for its own, as on a server.
        """

    def table_identity(self, database: str, table: str) -> str:
        """Return what identifies a table, so that one created in its place is another table.

        A rename keeps it, but on a server of Hive 3, which gives tables no numbers.
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

    def close(self) -> None:
        """Close the connections."""
