"""Statements that the parser recognises, one frozen dataclass for each kind.

Every statement has its source as ``text``, without the semicolon that ends it, and every ``Span``
is relative to that text. Names are tuples of their parts without backticks; ``name_span`` is the
position of the table's (view's, database's) name. A clause that acidsql recognises and does not
support is listed in ``unsupported``, so that the command can refuse it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from acidsql.syntax.alter_statements import (
    Alteration,
    CommentOnColumn,
    CreateTag,
    DropTag,
    SetDatabaseProperties,
    UnsetDatabaseProperties,
)
from acidsql.syntax.copy_statements import CloneTable, ExportTable, ImportTable
from acidsql.syntax.maintenance_statements import (
    AbortCompactions,
    AbortTransactions,
    AnalyzeTable,
    AnalyzeTables,
    CheckTable,
    Compact,
    MsckRepair,
    Optimize,
    RefreshTable,
    Restore,
    UndoWrite,
    Vacuum,
)
from acidsql.syntax.nodes import Clustering, Name, Named, PartitionSpec, Span
from acidsql.syntax.show_statements import (
    Describe,
    DescribeDetail,
    DescribeHealth,
    DescribeHistory,
    Explain,
    ShowColumns,
    ShowCompactions,
    ShowCreateTable,
    ShowDatabases,
    ShowLocks,
    ShowPartitions,
    ShowTables,
    ShowTags,
    ShowTblProperties,
    ShowTransactions,
    ShowViews,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTable(Named):
    """``CREATE TABLE`` of a transactional table; of other tables the parser returns ``None``.

    Attributes:
        columns: inside of the parentheses.
        partitioned_by: inside of the parentheses; names with types, or names only.
        stored_as: file format, or the two class names of ``INPUTFORMAT … OUTPUTFORMAT …``; None
            for ORC, if ``using`` is None too.
        using: file format; None for ``USING acidsql``.
        or_replace: ``CREATE OR REPLACE``.
        replace_table: ``REPLACE TABLE``, of a table that must exist.
        properties: table properties. The one that makes the table transactional is always spelled
            ``"transactional": "true"``; the others are as written.
        query: of ``AS SELECT``, without the ``AS``.
    """

    or_replace: bool = False
    replace_table: bool = False
    external: bool = False
    if_not_exists: bool = False
    columns: Span | None = None
    partitioned_by: Span | None = None
    clustered_by: Clustering | None = None
    stored_as: str | None = None
    using: str | None = None
    location: str | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    query: Span | None = None
    unsupported: tuple[str, ...] = ()

    @property
    def replaces(self) -> bool:
        """Return whether the statement may, or must, replace a table that exists."""
        return self.or_replace or self.replace_table


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike(Named):
    """``CREATE TABLE … LIKE t``, of any kind of table.

    Attributes:
        like: name of the table whose definition is copied.
        transactional: whether the statement itself says that the new table is.
        unsupported: what stands beside ``LIKE``, other than these.
    """

    like: Name
    if_not_exists: bool = False
    stored_as: str | None = None
    using: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    transactional: bool = False
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DropTable(Named):
    """``DROP TABLE``."""

    if_exists: bool = False
    purge: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Truncate(Named):
    """``TRUNCATE TABLE``."""

    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateView(Named):
    """``CREATE VIEW … AS``.

    Attributes:
        temporary: of this session.
        global_temporary: of all sessions of the application; ``temporary`` is then false.
        columns: inside of the parentheses: names, each perhaps with a comment.
        schema_binding: words after ``WITH SCHEMA``.
    """

    query: Span
    or_replace: bool = False
    temporary: bool = False
    global_temporary: bool = False
    if_not_exists: bool = False
    columns: Span | None = None
    comment: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)
    schema_binding: str | None = None
    unsupported: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class AlterViewAs(Named):
    """``ALTER VIEW … AS``."""

    query: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class DropView(Named):
    """``DROP VIEW``."""

    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDatabase(Named):
    """``CREATE DATABASE`` (``SCHEMA``, ``NAMESPACE``)."""

    if_not_exists: bool = False
    comment: str | None = None
    location: str | None = None
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class DropDatabase(Named):
    """``DROP DATABASE`` (``SCHEMA``, ``NAMESPACE``)."""

    if_exists: bool = False
    cascade: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Use(Named):
    """``USE [DATABASE]``."""


def _blanked(text: str, span: Span | None) -> str:
    """Return a text with blanks in place of a span."""
    if span is None:
        return text
    return f"{text[: span.start]}{' ' * (span.end - span.start)}{text[span.end :]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Insert(Named):
    """``INSERT INTO`` or ``INSERT OVERWRITE`` a table.

    Attributes:
        if_not_exists: ``IF NOT EXISTS`` after the partition.
        columns: the column list, ``None`` without one.
        query: ``SELECT …``, ``VALUES …``, ``TABLE t``, ``FROM t SELECT …``, ``WITH … SELECT …`` or
            a query in parentheses; after ``REPLACE WHERE`` and ``REPLACE ON`` the condition too,
            and after ``REPLACE ON`` the alias of the query.
        with_clause: a ``WITH`` that stands before ``INSERT``, keyword included.
        alias: of the table, before ``REPLACE``.
        replace_where: ``REPLACE WHERE``, with a condition on the rows that are replaced.
        replace_on: ``REPLACE ON``, with a condition on these and the new rows.
        replace_using: columns of ``REPLACE USING``.
        schema_evolution: ``WITH SCHEMA EVOLUTION``.
    """

    query: Span
    overwrite: bool = False
    partition: PartitionSpec | None = None
    if_not_exists: bool = False
    columns: tuple[str, ...] | None = None
    by_name: bool = False
    with_clause: Span | None = None
    alias: str | None = None
    replace_where: bool = False
    replace_on: bool = False
    replace_using: tuple[str, ...] | None = None
    schema_evolution: Span | None = None
    unsupported: tuple[str, ...] = ()

    @property
    def replaces(self) -> bool:
        """Return whether the new rows replace others (``REPLACE``)."""
        return self.replace_where or self.replace_on or self.replace_using is not None

    @property
    def plain_text(self) -> str:
        """Text without ``WITH SCHEMA EVOLUTION``, with the same offsets."""
        return _blanked(self.text, self.schema_evolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertBranch:
    """One ``INSERT`` of a ``MultiInsert``.

    Attributes:
        name: of the table.
        head: text from ``INSERT`` up to ``SELECT``, exclusive.
        body: text from ``SELECT`` on.
    """

    name: Name
    head: Span
    body: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsert:
    """Hive's ``FROM source INSERT … INSERT …``.

    Attributes:
        source: with its ``FROM``.
        branches: those into tables, in order.
        with_clause: a ``WITH`` before ``FROM``, keyword included.
        directories: whether there are branches into directories.
    """

    text: str
    source: Span
    branches: tuple[InsertBranch, ...]
    with_clause: Span | None = None
    directories: bool = False

    def insert(self, branch: InsertBranch) -> str:
        """Return the text of a branch as an INSERT of its own."""
        spans = (self.with_clause, branch.head, self.source, branch.body)
        return "\n".join(span.of(self.text) for span in spans if span is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowLevel(Named):
    """Base of statements that change rows.

    Attributes:
        alias: of the table.
        with_clause: a ``WITH`` before the statement, keyword included.
    """

    alias: str | None = None
    with_clause: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Update(_RowLevel):
    """``UPDATE``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delete(_RowLevel):
    """``DELETE FROM``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge(_RowLevel):
    """``MERGE INTO``.

    Attributes:
        schema_evolution: ``WITH SCHEMA EVOLUTION``.
    """

    schema_evolution: Span | None = None

    @property
    def plain_text(self) -> str:
        """Text without ``WITH SCHEMA EVOLUTION``, with the same offsets."""
        return _blanked(self.text, self.schema_evolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTransaction:
    """``START TRANSACTION [READ ONLY | READ WRITE]``; ``BEGIN [TRANSACTION]`` is the same."""

    text: str
    read_only: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """``COMMIT [WORK]``."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """``ROLLBACK [WORK]``."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheTable(Named):
    """``CACHE [LAZY] TABLE``.

    Attributes:
        lazy: the rows are cached when they are read first.
        properties: the OPTIONS.
        query: of a temporary view that is made.
    """

    lazy: bool = False
    properties: Mapping[str, str] = field(default_factory=dict)
    query: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UncacheTable(Named):
    """``UNCACHE TABLE``."""

    if_exists: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ClearCache:
    """``CLEAR CACHE``."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadData(Named):
    """``LOAD DATA [LOCAL] INPATH '…' [OVERWRITE] INTO TABLE … [PARTITION (…)]``."""

    inpath: str
    local: bool = False
    overwrite: bool = False
    partition: PartitionSpec | None = None


# fmt: off
Statement: TypeAlias = (
    CreateTable | CreateTableLike | CloneTable | DropTable | Truncate | Alteration | Compact |
    CreateView | AlterViewAs | DropView |
    CreateDatabase | DropDatabase | SetDatabaseProperties | UnsetDatabaseProperties | Use |
    CommentOnColumn | CreateTag | DropTag | ShowTags |
    ShowDatabases | ShowTables | ShowViews | ShowPartitions | ShowCreateTable |
    ShowColumns | ShowTblProperties | Describe | DescribeHistory | DescribeDetail |
    DescribeHealth | Insert | MultiInsert | Update | Delete | Merge | Restore | UndoWrite |
    StartTransaction | Commit | Rollback |
    ShowCompactions | ShowTransactions | ShowLocks | AbortTransactions | AbortCompactions |
    Optimize | Vacuum | Explain | CacheTable | UncacheTable | ClearCache |
    ExportTable | ImportTable |
    RefreshTable | AnalyzeTable | AnalyzeTables | MsckRepair | CheckTable | LoadData
)
# fmt: on
