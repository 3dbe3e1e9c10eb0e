"""Value objects of a metastore: tables, partitions, transactions, locks, compactions.

Names and states are those of the Hive Metastore's Thrift interface (``hive_metastore.thrift``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from acidsql.format.identifiers import folded, lowered
from acidsql.format.partitions import partition_name
from acidsql.metastore.moments import ChangeRange, Moment
from acidsql.syntax.constraints import Constraint

# Hive keeps the write ids up to this one for the files of a converted table.
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
    # Hive's own, in a queue that is shared with it.
    REBALANCE = "rebalance"
    ABORT_TXN_CLEANUP = "abort_txn_cleanup"
    SMART_OPTIMIZE = "smart_optimize"
    # acidsql's own: nothing is merged, and directories that no reader needs are removed.
    CLEANUP = "cleanup"


class CompactionState(StrEnum):
    """State of a compaction, with the words of Hive's SHOW COMPACTIONS."""

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
    """Column of a table.

    No two columns of a table differ only by case (``stored_name``, ``key``).

    Attributes:
        name: as it was written, and as Spark shows it.
        type: type as Spark and Hive write it (``decimal(10,2)``, ``struct<a:int>``).
        default: SQL text of the DEFAULT, or None.
        initial: value of rows in files from before the column was added, as the text of a partition
            has it; None for NULL.
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
        """Name in lower case, as Hive, the files and the directories of partitions have it."""
        return lowered(self.name)

    @property
    def key(self) -> str:
        """Name that distinguishes the columns of a table, whatever their case."""
        return folded(self.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Table or view of the catalog. Its name and that of its database are in lower case, as in
    Hive; its columns have the names that were written.

    Attributes:
        bucket_columns: names of the columns of CLUSTERED BY; a row goes to the file that their hash
            chooses.
        num_buckets: number of buckets of CLUSTERED BY; 0 means that the table is not bucketed.
        serde_properties: delimiters of text files (``field.delim``), for an insert-only table.
        created: seconds since 1970.
        constraints: those beside NOT NULL and DEFAULT, which the columns have. Each is enabled or
            not, and the parent of a foreign key has its database. A metastore gives names to those
            without one.
        as_of: moment whose version of the table a statement reads, None for now; no part of the
            definition.
        changes: changes that a statement reads instead of the rows, None for the rows; no part of
            the definition.
        replaced_by: write id of the transaction that gave the table this definition, with a
            directory of its own (``ReplaceTable``); 0 for none. A snapshot without it does not fit.
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
        """Return whether the table is insert-only: its rows have no row ids ("MM" table,
        AcidUtils).
        """
        return self.properties.get("transactional_properties", "").lower() == "insert_only"

    @property
    def enforced_constraints(self) -> tuple[Constraint, ...]:
        """Constraints that each new row must meet."""
        return tuple(c for c in self.constraints if c.is_enforced)

    @property
    def generated_columns(self) -> tuple[Column, ...]:
        """Columns whose values are computed from those of others."""
        columns = (*self.columns, *self.partition_columns)
        return tuple(column for column in columns if column.generated is not None)

    @property
    def identity_columns(self) -> tuple[Column, ...]:
        """Columns that get a number of their own in each new row, which are never partition
        columns.
        """
        return tuple(column for column in self.columns if column.identity is not None)

    @property
    def bucketing_version(self) -> int:
        """Version of Hive's hash of the bucket columns: 2 is Murmur3, 1 Java's hash codes (the
        default).
        """
        return int(self.properties.get("bucketing_version", "1"))

    @property
    def full_name(self) -> str:
        """Name with the database, ``db.table``, as valid-write-id lists have it."""
        return f"{self.database}.{self.name}"

    def partition_name(self, values: Sequence[str]) -> str:
        """Return the name of the partition with these values, ``p=1/q=2``."""
        return partition_name([c.name for c in self.partition_columns], values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    """Partition of a table.

    Attributes:
        values: one text for each partition column, as Hive keeps them;
            ``__HIVE_DEFAULT_PARTITION__`` is NULL.
        columns: columns of the partition, where they differ from the table's (Hive: ALTER TABLE …
            ADD COLUMNS … RESTRICT changes only the table); None means the table's.
    """

    values: tuple[str, ...]
    location: str
    columns: tuple[Column, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainTable:
    """Table that is not transactional.

    Attributes:
        table: its definition as a transactional table.
        external: True if dropping the table must leave its files.
        is_sorted: True if it was created with SORTED BY.
    """

    table: Table
    partitions: tuple[Partition, ...]
    external: bool
    is_sorted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class TableOwner:
    """Table of a metastore, whatever names it has or gets.

    Attributes:
        metastore_id: given to the metastore's file when it was made; copies have the same.
        file: path of the metastore's file.
        table_id: of the table in it, never given to another one.
    """

    metastore_id: str
    file: str
    table_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LockRequest:
    """Lock component: a table, or one partition of it, with the type of lock and the operation.

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
        next_txn_id: transactions with a lower id may read what was there before.
        done: when the result became visible; None if it is not, or if it is unknown.
        size: bytes that it reads, about; None if it is unknown.
        pool: workers that take it; None for those of no pool.
        order_by: SQL text by which a rebalance sorts the rows.
        buckets: number of files of a rebalance; None keeps it.
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
    """Options of a compaction besides its type; see ``Compaction``."""

    size: int | None = None
    pool: str | None = None
    order_by: str | None = None
    buckets: int | None = None


NO_OPTIONS = CompactionOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerLimits:
    """Choice of the compactions that a worker takes.

    Attributes:
        pool: entries of this pool; None: those of no pool.
        most_bytes: all workers together read no more than this at a time; None: no limit.
    """

    pool: str | None = None
    most_bytes: int | None = None


NO_LIMITS = WorkerLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionCandidate:
    """Partition, or table without partitions, that was written to since the initiator's last look.

    Attributes:
        partition: its name; None for the whole table.
        writes: number of commits and aborts since then.
        aborted: number of aborted writes to the table that are not cleaned.
        oldest_abort: time of the oldest of these, in seconds since 1970.
    """

    database: str
    table: str
    partition: str | None
    writes: int
    aborted: int = 0
    oldest_abort: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of a metastore: what it does by itself, and what it leaves to acidsql.

    Attributes:
        is_id_authority: every transaction id and write id in a directory name comes from this
            metastore. Where false, its file may have been lost, or restored from an older copy; ids
            are then read from the directories.
        chooses_locations: it chooses the directories of databases and tables, and keeps them apart.
        has_other_clients: other clients may create databases at any time. Such a database becomes
            known to Spark when a statement names it; otherwise all databases do when a session
            opens.
        learns_writes_from_locks: its cleaner learns where an aborted transaction may have left
            files: in the tables and partitions of the lock requests that follow the allocation of
            a write id.
        converts_spark_tables: it can take over a table of Spark's own catalog without moving it.
        keeps_history: it keeps the history of tables, and takes ``RecordCounts`` and
            ``RecordCompaction``.
        readers_know_zstd: everything that reads its tables decompresses zstd. ORC does from 1.6 on,
            which Hive 4 has; Hive 3.1 has ORC 1.5.
        queues_cleanups: ``request_cleanup`` is for acidsql. A server decides by itself what is
            cleaned that no compaction has replaced.
        keeps_initial_values: it keeps ``Column.initial``, and everything that reads its tables
            knows it. Hive does not.
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
