"""What acidsql needs of a metastore: tables, partitions, transactions,
write ids, locks, compactions.

Shaped like the Hive Metastore's Thrift interface, so that one behaviour suite serves the embedded
store and Hive's. Semantics follow Hive 4 (``hive_metastore.thrift``, ``TxnHandler``). Nothing here
knows Spark.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList


class TableType(str, Enum):
    """What a catalog entry is."""

    MANAGED = "MANAGED_TABLE"
    VIEW = "VIRTUAL_VIEW"


class FileFormat(str, Enum):
    """Format of a table's files; full ACID tables are ORC."""

    ORC = "orc"
    PARQUET = "parquet"
    TEXT = "textfile"


class TxnState(str, Enum):
    """State of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class TxnType(str, Enum):
    """Kind of a transaction; readers never get write ids."""

    DEFAULT = "default"
    READ_ONLY = "read_only"
    COMPACTION = "compaction"


class LockType(str, Enum):
    """Lock strengths, weakest first (compatibility: Hive's CheckLockFunction)."""

    SHARED_READ = "shared_read"
    SHARED_WRITE = "shared_write"
    EXCL_WRITE = "excl_write"
    EXCLUSIVE = "exclusive"


class LockState(str, Enum):
    """Answer to a lock request."""

    ACQUIRED = "acquired"
    WAITING = "waiting"


class Operation(str, Enum):
    """What a transaction does to an object; UPDATE and DELETE conflict with each other, INSERT
    never does.
    """

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"


class CompactionType(str, Enum):
    """Kinds of compaction."""

    MINOR = "minor"
    MAJOR = "major"
    # Hive's own, in a queue that is shared with it.
    REBALANCE = "rebalance"
    ABORT_TXN_CLEANUP = "abort_txn_cleanup"
    SMART_OPTIMIZE = "smart_optimize"


class CompactionState(str, Enum):
    """States of SHOW COMPACTIONS, with Hive's words."""

    INITIATED = "initiated"
    WORKING = "working"
    READY_FOR_CLEANING = "ready for cleaning"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    # Hive's own, in a queue that is shared with it.
    DID_NOT_INITIATE = "did not initiate"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column: ``type`` is Hive's/Spark's type text (``decimal(10,2)``, ``struct<a:int>``),
    ``default`` SQL text.
    """

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table or view of the catalog. Database, table and column names are kept in lower case, as
    Hive keeps them.

    Attributes:
        bucket_columns: of CLUSTERED BY; rows go to the file that their hash names.
        num_buckets: of CLUSTERED BY; 0 means that the table is not bucketed.
        serde_properties: how text is delimited (``field.delim``), for an insert-only table.
        created: seconds since 1970.
    """

    database: str
    name: str
    columns: tuple[Column, ...]
    partition_columns: tuple[Column, ...] = ()
    location: str = ""
    properties: Mapping[str, str] = field(default_factory=dict)
    table_type: TableType = TableType.MANAGED
    view_text: str | None = None
    owner: str = ""
    created: int = 0
    bucket_columns: tuple[str, ...] = ()
    num_buckets: int = 0
    file_format: FileFormat = FileFormat.ORC
    serde_properties: Mapping[str, str] = field(default_factory=dict)

    @property
    def insert_only(self) -> bool:
        """Whether rows have no identity and are only ever added ("MM" table, AcidUtils)."""
        return self.properties.get("transactional_properties", "").lower() == "insert_only"

    @property
    def bucketing_version(self) -> int:
        """How Hive hashes bucket columns: 2 is Murmur3, 1 Java's hash codes (absent means 1)."""
        return int(self.properties.get("bucketing_version", "1"))

    @property
    def full_name(self) -> str:
        """``db.table``, the form that valid-write-id lists carry."""
        return f"{self.database}.{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """A partition: ``values`` as Hive keeps them, text, ``__HIVE_DEFAULT_PARTITION__`` for NULL.

    Attributes:
        columns: the partition's own columns, where they are not the table's (Hive: ALTER TABLE …
            ADD COLUMNS … RESTRICT changes the table alone); None means the table's.
    """

    values: tuple[str, ...]
    location: str
    columns: tuple[Column, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """One lock component: the table, or one partition of it (by its name, ``p=1/q=2``)."""

    database: str
    table: str
    partition: str | None
    type: LockType
    operation: Operation
    dynamic_partitions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockInfo:
    """A lock as SHOW LOCKS lists it."""

    lock_id: int
    txn_id: int
    database: str
    table: str
    partition: str | None
    type: LockType
    state: LockState
    user: str
    host: str
    acquired: int | None
    last_heartbeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TxnInfo:
    """A transaction that is open or aborted, as SHOW TRANSACTIONS lists it (times
    in seconds since 1970).
    """

    txn_id: int
    state: TxnState
    type: TxnType
    user: str
    host: str
    started: int
    last_heartbeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """An entry of the compaction queue or of its history (times in seconds since 1970)."""

    compaction_id: int
    database: str
    table: str
    partition: str | None
    type: CompactionType
    state: CompactionState
    worker: str | None = None
    enqueued: int = 0
    started: int | None = None
    ended: int | None = None
    txn_id: int | None = None
    next_txn_id: int | None = None
    highest_write_id: int | None = None
    error: str | None = None


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
    def served(self) -> bool:
        """Whether a server keeps it, for other engines too. A server is the authority on ids; the
        directories may know more than a file that was lost, or restored from an older copy. And
        what a killed client leaves behind, a server's cleaner finds in partitions that it knows.
        """

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
