"""Statements that the parser recognises, one frozen dataclass for each kind.

The ``text`` of a statement is its source without the final semicolon, and every ``Span`` is
relative to this text. A name is a tuple of its parts without backticks. ``name_span`` is the
position of the name of the table, view or database. ``unsupported`` lists the clauses that acidsql
recognises but does not support, so that the command can refuse them.
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
    """``CREATE TABLE`` of a transactional table; for other tables, the parser returns ``None``.

    Attributes:
        columns: content of the parentheses.
        partitioned_by: content of the parentheses; names with types, or only names.
        stored_as: file format, or the two class names of ``INPUTFORMAT … OUTPUTFORMAT …``; None
            for ORC, if ``using`` is also None.
        using: file format; None for ``USING acidsql``.
        or_replace: ``CREATE OR REPLACE``.
        replace_table: ``REPLACE TABLE``, which requires an existing table.
        temporary: whether the table belongs to this session and ends with it.
        properties: table properties. The property that makes the table transactional is always
            ``"transactional": "true"``; the others keep their spelling.
        query: query of ``AS SELECT``, without ``AS``.
    """

    or_replace: bool = False
    replace_table: bool = False
    temporary: bool = False
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
        """Return whether the statement can replace an existing table, or requires one."""
        return self.or_replace or self.replace_table


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateTableLike(Named):
    """``CREATE TABLE … LIKE t``, for a table of any kind.

    Attributes:
        like: name of the table with the definition to copy.
        temporary: whether the new table belongs to this session and ends with it.
        transactional: whether the statement declares the new table as transactional.
        unsupported: other clauses of the statement.
    """

    like: Name
    temporary: bool = False
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
        temporary: whether the view belongs to this session.
        global_temporary: whether all sessions of the application share it; ``temporary`` is then
            False.
        columns: content of the parentheses: names with optional comments.
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
        columns: the column list, ``None`` without a list.
        query: ``SELECT …``, ``VALUES …``, ``TABLE t``, ``FROM t SELECT …``, ``WITH … SELECT …`` or
            a query in parentheses. For ``REPLACE WHERE`` and ``REPLACE ON`` also the condition, and
            for ``REPLACE ON`` the alias of the query.
        with_clause: a ``WITH`` clause before ``INSERT``, with its keyword.
        alias: alias of the table, before ``REPLACE``.
        replace_where: ``REPLACE WHERE``, with a condition on the rows to replace.
        replace_on: ``REPLACE ON``, with a condition on the rows to replace and the new rows.
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
        """Return whether the new rows replace existing rows (``REPLACE``)."""
        return self.replace_where or self.replace_on or self.replace_using is not None

    @property
    def plain_text(self) -> str:
        """Text without ``WITH SCHEMA EVOLUTION``, with the same offsets."""
        return _blanked(self.text, self.schema_evolution)


@dataclass(frozen=True, slots=True, kw_only=True)
class InsertBranch:
    """One ``INSERT`` of a ``MultiInsert``.

    Attributes:
        name: name of the table.
        head: text from ``INSERT`` to ``SELECT``, exclusive.
        body: text from ``SELECT`` on.
    """

    name: Name
    head: Span
    body: Span


@dataclass(frozen=True, slots=True, kw_only=True)
class MultiInsert:
    """Hive's ``FROM source INSERT … INSERT …``.

    Attributes:
        source: source, with ``FROM``.
        branches: branches into tables, in order.
        with_clause: a ``WITH`` clause before ``FROM``, with its keyword.
        directories: whether the statement also has branches into directories.
    """

    text: str
    source: Span
    branches: tuple[InsertBranch, ...]
    with_clause: Span | None = None
    directories: bool = False

    def insert(self, branch: InsertBranch) -> str:
        """Return the text of a branch as a separate INSERT."""
        spans = (self.with_clause, branch.head, self.source, branch.body)
        return "\n".join(span.of(self.text) for span in spans if span is not None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _RowLevel(Named):
    """Base of statements that change rows.

    Attributes:
        alias: alias of the table.
        with_clause: a ``WITH`` clause before the statement, with its keyword.
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
        lazy: whether the first read caches the rows.
        properties: the OPTIONS.
        query: query of the temporary view that the statement creates.
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
