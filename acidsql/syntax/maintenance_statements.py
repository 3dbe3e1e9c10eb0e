"""Statements that maintain tables."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.syntax.nodes import Name, Named, PartitionSpec, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class Compact(Named):
    """``ALTER TABLE … COMPACT``; ``OPTIMIZE TABLE … REWRITE DATA`` is the same with ``wait``.

    Attributes:
        compaction_type: the quoted word in lower case.
        wait: whether the statement waits for the compaction (``AND WAIT``).
        pool: pool of the workers that run the compaction.
        clustered_into: number of files that a rebalance writes.
        order_by: sort order of a rebalance.
    """

    compaction_type: str
    partition: PartitionSpec | None = None
    wait: bool = False
    pool: str | None = None
    clustered_into: int | None = None
    order_by: Span | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimize(Named):
    """``OPTIMIZE`` of Delta Lake: compact the partitions that need a compaction.

    Attributes:
        condition: expression over the partition columns.
        zorder_by: names of the columns by which rows are clustered.
    """

    condition: Span | None = None
    zorder_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuum(Named):
    """``VACUUM`` of Delta Lake: remove files that no snapshot needs.

    Attributes:
        retain_hours: hours to keep obsolete files; None: the retention of the table.
        dry_run: whether to list the files without removing them.
    """

    retain_hours: int | None = None
    dry_run: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Restore(Named):
    """``RESTORE [TABLE] … [TO] VERSION AS OF …`` of Delta Lake, or ``TIMESTAMP AS OF …``.

    Attributes:
        version: text after ``VERSION AS OF``.
        timestamp: expression after ``TIMESTAMP AS OF``.
    """

    version: Span | None = None
    timestamp: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoWrite(Named):
    """``UNDO WRITE n OF [TABLE] …``."""

    write_id: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortTransactions:
    """``ABORT TRANSACTIONS id id …``."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AbortCompactions:
    """``ABORT COMPACTIONS id id …``."""

    text: str
    ids: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshTable(Named):
    """``REFRESH TABLE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeTable(Named):
    """``ANALYZE TABLE … COMPUTE STATISTICS``.

    Attributes:
        noscan: whether only the sizes of the files are read.
        all_columns: ``FOR ALL COLUMNS``, or Hive's ``FOR COLUMNS`` without names.
        analyzed_columns: names of ``FOR COLUMNS``.
    """

    partition: PartitionSpec | None = None
    noscan: bool = False
    all_columns: bool = False
    analyzed_columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AnalyzeTables:
    """``ANALYZE TABLES``.

    Attributes:
        database: parts of its name, None for the current database.
    """

    text: str
    database: Name | None = None
    noscan: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MsckRepair(Named):
    """``[MSCK] REPAIR TABLE``, and ``ALTER TABLE … RECOVER PARTITIONS``.

    Attributes:
        mode: ``add``, ``drop`` or ``sync`` partitions.
    """

    mode: str = "add"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckTable(Named):
    """``CHECK TABLE … [PARTITION (…)] [FAST | FULL] [REPAIR [DRY RUN]]``.

    Attributes:
        mode: ``fast`` checks names and the tails of files; ``full`` also checks row ids.
        repair: whether to repair problems that can be repaired safely.
        dry_run: whether to report the repairs without making them.
    """

    partition: PartitionSpec | None = None
    mode: str = "fast"
    repair: bool = False
    dry_run: bool = False
