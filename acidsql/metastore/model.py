"""What a metastore tells of: tables, partitions, transactions, locks, compactions.

Their words and states are those of the Hive Metastore's Thrift interface
(``hive_metastore.thrift``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from acidsql.format.partitions import partition_name

# Hive keeps the write ids up to this one for the files of a converted table.
RESERVED_WRITE_IDS = 10_000_000


class TableType(StrEnum):
    """What a catalog entry is."""

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
    """Kind of a transaction; readers never get write ids."""

    DEFAULT = "default"
    READ_ONLY = "read_only"
    COMPACTION = "compaction"


class LockType(StrEnum):
    """Lock strengths, weakest first (compatibility: Hive's CheckLockFunction)."""

    SHARED_READ = "shared_read"
    SHARED_WRITE = "shared_write"
    EXCL_WRITE = "excl_write"
    EXCLUSIVE = "exclusive"


class LockState(StrEnum):
    """Answer to a lock request."""

    ACQUIRED = "acquired"
    WAITING = "waiting"


class Operation(StrEnum):
    """What a transaction does to an object; UPDATE and DELETE conflict with each other, INSERT
    never does.
    """

    SELECT = "s"
    INSERT = "i"
    UPDATE = "u"
    DELETE = "d"


class CompactionType(StrEnum):
    """Kinds of compaction."""

    MINOR = "minor"
    MAJOR = "major"
    # Hive's own, in a queue that is shared with it.
    REBALANCE = "rebalance"
    ABORT_TXN_CLEANUP = "abort_txn_cleanup"
    SMART_OPTIMIZE = "smart_optimize"


class CompactionState(StrEnum):
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

    def partition_name(self, values: Sequence[str]) -> str:
        """The name of the partition that has these values, ``p=1/q=2``."""
        return partition_name([c.name for c in self.partition_columns], values)


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
class PlainTable:
    """A table that is not transactional.

    Attributes:
        table: what it would be as a transactional one.
        external: its files are not the catalog's to remove.
        is_sorted: of SORTED BY.
    """

    table: Table
    partitions: tuple[Partition, ...]
    external: bool
    is_sorted: bool


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What a metastore does by itself, and what is left to acidsql.

    Attributes:
        is_id_authority: no directory has a transaction id or write id that it does not know. Where
            false, its file may be lost, or restored from an older copy, and the directories tell.
        chooses_locations: it gives databases and tables their directories, and keeps them apart.
        has_other_clients: others may create databases in it at any time; they become known to
            Spark when they are named, else all of them when a session opens.
        learns_writes_from_locks: its cleaner knows from lock requests, made once a write id is
            allocated, in which tables and partitions an aborted transaction may have left files.
        converts_spark_tables: it can take over a table of Spark's own catalog where it lies.
    """

    is_id_authority: bool
    chooses_locations: bool
    has_other_clients: bool
    learns_writes_from_locks: bool
    converts_spark_tables: bool
