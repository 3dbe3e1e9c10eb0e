"""Statements of ``ALTER TABLE`` except ``COMPACT``, one frozen dataclass for each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from acidsql.syntax.nodes import Name, Named, PartitionFilter, PartitionSpec, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterTable(Named):
    """``ALTER TABLE`` of a kind without a class in this module.

    Attributes:
        rest: everything after the name.
    """

    rest: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedPartition:
    """Partition of ``ADD PARTITION``: ``PARTITION (…) [LOCATION '…']``."""

    spec: PartitionSpec
    location: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AddPartitions(Named):
    """``ADD [IF NOT EXISTS] PARTITION (…) [LOCATION '…'] …``."""

    partitions: tuple[PlacedPartition, ...]
    if_not_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropPartitions(Named):
    """``DROP [IF EXISTS] PARTITION (…)[, PARTITION (…)] [PURGE]``."""

    partitions: tuple[PartitionFilter, ...]
    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTag(Named):
    """``CREATE TAG name [AS OF VERSION n] [RETAIN n DAYS]`` of Apache Iceberg.

    Attributes:
        version: write id; None for the current version.
        retain_days: days to keep the version; None: until the tag is dropped.
    """

    tag: str
    version: int | None = None
    retain_days: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTag(Named):
    """``DROP TAG [IF EXISTS] name``."""

    tag: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RenamePartition(Named):
    """``PARTITION (…) RENAME TO PARTITION (…)``."""

    partition: PartitionSpec
    new_partition: PartitionSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameTable(Named):
    """``RENAME TO``."""

    new_name: Name


@dataclass(frozen=True, slots=True, kw_only=True)
class AddColumns(Named):
    """``ADD COLUMN[S]``.

    Attributes:
        columns: definitions of the columns, without the parentheses.
        cascade: whether ``CASCADE`` is given, which changes partitions as well.
    """

    columns: Span
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceColumns(Named):
    """``REPLACE COLUMNS (…)``, with the same attributes as ``AddColumns``."""

    columns: Span
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DropColumns(Named):
    """``DROP COLUMN[S]``.

    Attributes:
        columns: everything after the keywords.
    """

    columns: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class RenameColumn(Named):
    """``RENAME COLUMN a TO b``."""

    column_name: Name
    new_column: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeColumn(Named):
    """Hive's ``CHANGE a b type …`` and Spark's ``ALTER COLUMN a …``.

    Attributes:
        column_name: the column.
        new_column: its new name.
        definition: its type and the clauses NOT NULL, DEFAULT, COMMENT, FIRST and AFTER.
        comment: comment of ``ALTER COLUMN a COMMENT``.
        not_null: True for ``SET NOT NULL``, False for ``DROP NOT NULL``.
        default: expression of ``SET DEFAULT``.
        without_default: whether the statement is ``DROP DEFAULT``.
        sync_identity: whether the statement is ``SYNC IDENTITY``.
        moved: True for ``FIRST`` without other changes; for ``AFTER``, the name of that column.
        cascade: whether ``CASCADE`` is given, which changes partitions as well.
    """

    column_name: Name
    new_column: str | None = None
    definition: Span | None = None
    comment: str | None = None
    not_null: bool | None = None
    default: Span | None = None
    without_default: bool = False
    sync_identity: bool = False
    moved: bool | Name = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AddConstraint(Named):
    """``ADD CONSTRAINT …``, also for a constraint without a name.

    Attributes:
        constraint: the constraint, which ``constraints.parse_constraint`` reads.
    """

    constraint: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class DropConstraint(Named):
    """``DROP CONSTRAINT [IF EXISTS] name``."""

    constraint_name: str
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetProperties(Named):
    """``SET TBLPROPERTIES``."""

    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetProperties(Named):
    """``UNSET TBLPROPERTIES [IF EXISTS] (key, …)``."""

    keys: tuple[str, ...]
    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class SetLocation(Named):
    """``[PARTITION (…)] SET LOCATION``."""

    location: str
    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnTable(Named):
    """Spark's ``COMMENT ON TABLE t IS …``.

    Attributes:
        comment: the new comment, None for NULL.
    """

    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOnColumn(Named):
    """Spark's ``COMMENT ON COLUMN t.c IS …``; the last part of the name is the column.

    Attributes:
        comment: the new comment, None for NULL.
    """

    comment: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SetDatabaseProperties(SetProperties):
    """``ALTER DATABASE … SET DBPROPERTIES``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnsetDatabaseProperties(UnsetProperties):
    """``ALTER DATABASE … UNSET DBPROPERTIES [IF EXISTS] (key, …)``."""


# fmt: off
Alteration: TypeAlias = (
    AlterTable | AddPartitions | DropPartitions | RenamePartition | RenameTable | AddColumns |
    ReplaceColumns | DropColumns | RenameColumn | ChangeColumn | AddConstraint | DropConstraint |
    SetProperties | UnsetProperties | SetLocation | CommentOnTable
)
# fmt: on
