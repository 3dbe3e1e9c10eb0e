"""Value objects of a metastore: tables, partitions, transactions, locks, compactions.

Names and states come from the Hive Metastore's Thrift interface (``hive_metastore.thrift``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from acidsql.format.identifiers import folded, lowered
from acidsql.format.partitions import partition_name
from acidsql.metastore.moments import ChangeRange, Moment
from acidsql.syntax.constraints import Constraint

# Hive reserves the write ids up to this one for the files of a converted table.
RESERVED_WRITE_IDS = 10_000_000


class TableType(StrEnum):
    """Type of a catalog entry: managed table or view."""

    MANAGED = "MANAGED_TABLE"
    VIEW = "VIRTUAL_VIEW"


class FileFormat(StrEnum):
    """Format of a table's files; full ACID tables are ORC."""

    ORC = "orc"
    PARQUET = "parquet"
    TEXT = "textfile"


class TxnState(StrEnum):
    """State of a transaction."""

    OPEN = "open"
    COMMITTED = "committed"
    ABORTED = "aborted"


class TxnType(StrEnum):
    """Kind of a transaction; a read-only one never gets a write id."""

    DEFAULT = "default"
    READ_ONLY = "read_only"
    COMPACTION = "compaction"


class LockType(StrEnum):
    """Strength of a lock, weakest first (compatibility: Hive's CheckLockFunction)."""

    SHARED_READ = "shared_read"
    SHARED_WRITE = "shared_write"
    EXCL_WRITE = "excl_write"
    EXCLUSIVE = "exclusive"


class LockState(StrEnum):
    """Answer to a lock request."""

    ACQUIRED = "acquired"
    WAITING = "waiting"


class Operation(StrEnum):
    """Kind of access by a transaction to an object.

    UPDATE and DELETE conflict with each other and with themselves, INSERT never conflicts.
    """

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"


class CompactionType(StrEnum):
    """Kind of a compaction."""

    MINOR = "minor"
    MAJOR = "major"
    # Only Hive requests these, in a queue that acidsql shares with it.
    REBALANCE = "rebalance"
    ABORT_TXN_CLEANUP = "abort_txn_cleanup"
    SMART_OPTIMIZE = "smart_optimize"
    # Only in acidsql: it merges nothing, and removes the directories that no reader needs.
    CLEANUP = "cleanup"


class CompactionState(StrEnum):
    """State of a compaction, in the words of Hive's SHOW COMPACTIONS."""

    INITIATED = "initiated"
    WORKING = "working"
    READY_FOR_CLEANING = "ready for cleaning"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    REFUSED = "refused"
    # Only Hive sets these, in a queue that acidsql shares with it.
    DID_NOT_INITIATE = "did not initiate"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """Column of a table.

    The names of two columns of a table never differ only by case (``stored_name``, ``key``).

    Attributes:
        name: name as the user wrote it, and as Spark shows it.
        type: type as Spark and Hive write it (``decimal(10,2)``, ``struct<a:int>``).
        default: SQL text of the DEFAULT, or None.
        initial: value for the rows of files that are older than the column, written like the value
            of a partition; None for NULL.
        generated: SQL text of GENERATED ALWAYS AS, or None.
        identity: SQL text of an identity column (``Identity.text``), or None.
    """

    name: str
    type: str
    nullable: bool = True
    default: str | None = None
    comment: str | None = None
    initial: str | None = None
    generated: str | None = None
    identity: str | None = None

    @property
    def stored_name(self) -> str:
        """Name in lower case, as in Hive, in the files and in the directories of partitions."""
        return lowered(self.name)

    @property
    def key(self) -> str:
        """Name without regard to case, which is unique within a table."""
        return folded(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table or view of the catalog.

    The names of the table and of its database are in lower case, as in Hive. The names of its
    columns are as the user wrote them.

    Attributes:
        bucket_columns: names of the columns of CLUSTERED BY; the hash of their values chooses the
            file of a row.
        num_buckets: number of buckets of CLUSTERED BY; 0 means that the table is not bucketed.
        serde_properties: delimiters of text files (``field.delim``), for an insert-only table.
        created: seconds since 1970.
        constraints: all constraints except NOT NULL and DEFAULT, which ``Column`` contains. Each
            one is enabled or not, and the parent of a foreign key includes its database. A
            metastore names the constraints that have no name.
        as_of: moment whose version of the table a statement reads, None for the current version;
            not part of the definition.
        changes: changes that a statement reads instead of the rows, None to read the rows; not part
            of the definition.
        replaced_by: write id of the transaction that gave the table this definition and a new
            directory (``ReplaceTable``); 0 for none. A snapshot that does not contain this write id
            does not match the definition.
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
    constraints: tuple[Constraint, ...] = ()
    as_of: Moment | None = None
    changes: ChangeRange | None = None
    replaced_by: int = 0

    @property
    def insert_only(self) -> bool:
        """Return whether the table is insert-only, so that its rows have no row ids.

        Hive calls it an "MM" table (AcidUtils).
        """
        return self.properties.get("transactional_properties", "").lower() == "insert_only"

    @property
    def enforced_constraints(self) -> tuple[Constraint, ...]:
        """Constraints that each new row must meet."""
        return tuple(c for c in self.constraints if c.is_enforced)

    @property
    def generated_columns(self) -> tuple[Column, ...]:
        """Columns whose values are computed from the values of other columns."""
        columns = (*self.columns, *self.partition_columns)
        return tuple(column for column in columns if column.generated is not None)

    @property
    def identity_columns(self) -> tuple[Column, ...]:
        """Columns that get a unique number in each new row; they are never partition columns."""
        return tuple(column for column in self.columns if column.identity is not None)

    @property
    def bucketing_version(self) -> int:
        """Version of Hive's hash of the bucket columns.

        2 is Murmur3. 1, the default, is Java's hash codes.
        """
        return int(self.properties.get("bucketing_version", "1"))

    @property
    def full_name(self) -> str:
        """Name with the database, ``db.table``, as in valid-write-id lists."""
        return f"{self.database}.{self.name}"

    def partition_name(self, values: Sequence[str]) -> str:
        """Return the name of the partition with these values, ``p=1/q=2``."""
        return partition_name([c.name for c in self.partition_columns], values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Partition of a table.

    Attributes:
        values: one text for each partition column, as Hive stores it;
            ``__HIVE_DEFAULT_PARTITION__`` is NULL.
        columns: columns of the partition if they differ from the table's; None if they are the
            same. They differ after ALTER TABLE … ADD COLUMNS … RESTRICT of Hive, which changes only
            the table.
    """

    values: tuple[str, ...]
    location: str
    columns: tuple[Column, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTable:
    """Table that is not transactional.

    Attributes:
        table: the definition that it would have as a transactional table.
        external: True if dropping the table must not delete its files.
        is_sorted: True if it was created with SORTED BY.
    """

    table: Table
    partitions: tuple[Partition, ...]
    external: bool
    is_sorted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOwner:
    """Table of a metastore, identified independently of its current name.

    Attributes:
        metastore_id: id that the metastore's file got when it was created; copies of the file have
            the same id.
        file: path of the metastore's file.
        table_id: id of the table in that file, which no other table ever gets.
    """

    metastore_id: str
    file: str
    table_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """Lock component: a table or one of its partitions, the type of lock and the operation.

    Attributes:
        partition: name of the partition (``p=1/q=2``), or None for the whole table.
        dynamic_partitions: True if the partitions are known only when the rows are written.
    """

    database: str
    table: str
    partition: str | None
    type: LockType
    operation: Operation
    dynamic_partitions: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LockInfo:
    """Lock as SHOW LOCKS lists it (times in seconds since 1970)."""

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
    """Open or aborted transaction as SHOW TRANSACTIONS lists it (times in seconds since 1970)."""

    txn_id: int
    state: TxnState
    type: TxnType
    user: str
    host: str
    started: int
    last_heartbeat: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Entry of the compaction queue or of its history (times in seconds since 1970).

    Attributes:
        next_txn_id: transactions with a lower id may read the directories that the compaction
            replaced.
        done: time at which the result became visible; None if it is not visible, or if the time is
            unknown.
        size: approximate number of bytes that it reads; None if it is unknown.
        pool: pool of the workers that take it; None for the workers without a pool.
        order_by: SQL text by which a rebalance sorts the rows.
        buckets: number of files that a rebalance writes; None keeps the current number.
    """

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
    done: int | None = None
    size: int | None = None
    pool: str | None = None
    order_by: str | None = None
    buckets: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionOptions:
    """Options of a compaction in addition to its type; see ``Compaction``."""

    size: int | None = None
    pool: str | None = None
    order_by: str | None = None
    buckets: int | None = None


NO_OPTIONS = CompactionOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Choice of the compactions that a worker takes.

    Attributes:
        pool: the worker takes entries of this pool; None: entries without a pool.
        most_bytes: limit for the bytes that all workers read at the same time; None: no limit.
    """

    pool: str | None = None
    most_bytes: int | None = None


NO_LIMITS = WorkerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCandidate:
    """Partition or unpartitioned table with writes since the initiator last examined it.

    Attributes:
        partition: its name; None for the whole table.
        writes: number of commits and aborts since then.
        aborted: number of aborted writes to the table that are not cleaned yet.
        oldest_abort: time of the oldest of these aborts, in seconds since 1970.
    """

    database: str
    table: str
    partition: str | None
    writes: int
    aborted: int = 0
    oldest_abort: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of a metastore: what it does itself, and what it leaves to acidsql.

    Attributes:
        is_id_authority: every transaction id and write id in a directory name comes from this
            metastore. If false, the metastore's file may have been lost or restored from an older
            copy, and acidsql reads the ids from the directories.
        chooses_locations: it chooses the directories of databases and tables, and keeps them apart.
        has_other_clients: other clients may create databases at any time. If true, Spark learns of
            a database when a statement names it. If false, Spark learns of all databases when a
            session opens.
        learns_writes_from_locks: from the lock requests after the allocation of a write id, its
            cleaner learns where an aborted transaction may have left files.
        converts_spark_tables: it can take over a table of Spark's catalog without moving the files.
        keeps_history: it keeps the history of tables, and accepts ``RecordCounts`` and
            ``RecordCompaction``.
        readers_know_zstd: all readers of its tables can decompress zstd. ORC can from 1.6 on, which
            Hive 4 contains; Hive 3.1 contains ORC 1.5.
        queues_cleanups: acidsql can call ``request_cleanup``. A server decides by itself when to
            clean directories that no compaction has replaced.
        keeps_initial_values: it stores ``Column.initial``, and all readers of its tables apply it.
            Hive does not.
        compares_rows: transactions that changed different rows of a partition can both commit
            (``concurrent_writes``), and a commit can watch tables.
        replaces_tables: a commit can replace the columns, the partitions and the directory of a
            table together with its rows (``ReplaceTable``).
    """

    is_id_authority: bool
    chooses_locations: bool
    has_other_clients: bool
    learns_writes_from_locks: bool
    converts_spark_tables: bool
    keeps_history: bool
    readers_know_zstd: bool
    queues_cleanups: bool
    keeps_initial_values: bool
    compares_rows: bool
    replaces_tables: bool
