"""Statements that show metadata and plans: SHOW, DESCRIBE and EXPLAIN."""

from __future__ import annotations

from dataclasses import dataclass

from acidsql.syntax.nodes import Name, Named, PartitionSpec, Span


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowDatabases:
    """``SHOW DATABASES [[LIKE] 'pattern']``."""

    text: str
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTables:
    """``SHOW TABLES [IN database] [[LIKE] 'pattern']``."""

    text: str
    database: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowViews:
    """``SHOW VIEWS [IN database] [[LIKE] 'pattern']``."""

    text: str
    database: Name | None = None
    pattern: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowPartitions(Named):
    """``SHOW PARTITIONS``."""

    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCreateTable(Named):
    """``SHOW CREATE TABLE``."""

    as_serde: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowColumns(Named):
    """``SHOW COLUMNS IN table [IN database]``.

    Attributes:
        database: database after the table; the table's name may also contain a database.
    """

    database: Name | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTblProperties(Named):
    """``SHOW TBLPROPERTIES table [(key)]``."""

    key: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Describe(Named):
    """``DESCRIBE [TABLE]``; for queries, functions and databases, the parser returns ``None``.

    Attributes:
        mode: ``plain``, ``extended`` or ``formatted``.
        column: the parts of a column's name, joined with dots.
    """

    mode: str = "plain"
    partition: PartitionSpec | None = None
    column: str | None = None
    as_json: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTags(Named):
    """``SHOW TAGS IN table``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeHistory(Named):
    """``DESCRIBE HISTORY table [LIMIT n]``.

    Attributes:
        most: maximum number of entries.
    """

    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeDetail(Named):
    """``DESCRIBE DETAIL table``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DescribeHealth(Named):
    """``DESCRIBE HEALTH table [PARTITION (…)]``."""

    partition: PartitionSpec | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowCompactions:
    """``SHOW COMPACTIONS`` of the metastore, a database, or a table or partition."""

    text: str
    name: Name | None = None
    name_span: Span | None = None
    database: Name | None = None
    partition: PartitionSpec | None = None
    pool: str | None = None
    type: str | None = None
    status: str | None = None
    compaction_id: int | None = None
    order_by: Span | None = None
    limit: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowTransactions:
    """``SHOW TRANSACTIONS``."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShowLocks:
    """``SHOW LOCKS`` of the metastore, a database, or a table or partition."""

    text: str
    name: Name | None = None
    name_span: Span | None = None
    database: Name | None = None
    partition: PartitionSpec | None = None
    extended: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explain:
    """``EXPLAIN``.

    Attributes:
        mode: ``simple``, ``extended``, ``formatted``, ``cost`` or ``codegen``.
        statement: the statement to explain, not parsed.
    """

    text: str
    statement: Span
    mode: str = "simple"
