"""SHOW statements about databases, tables, partitions and columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial

from pyspark.sql import DataFrame

from acidsql.commands import result
from acidsql.commands.describe import described
from acidsql.commands.partitions import matching
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Column, Table, TableType
from acidsql.metastore.names import (
    TEMPORARY_PREFIX,
    TEMPORARY_PROCESS,
    is_temporary_table,
    name_of_temporary_table,
)
from acidsql.planning.name_resolution import CATALOG, find, qualified
from acidsql.session.acid_session import AcidSession, mirror_database
from acidsql.syntax import show_statements as ast
from acidsql.syntax.lexer import quote
from acidsql.syntax.literals import property_list, quoted_string


def show_tables(session: AcidSession, statement: ast.ShowTables) -> DataFrame | None:
    """Run SHOW TABLES: list Spark's tables and the metastore's tables."""
    return _listed(session, statement, "tableName", session.metastore.tables)


def show_views(session: AcidSession, statement: ast.ShowViews) -> DataFrame | None:
    """Run SHOW VIEWS: list Spark's views and the metastore's views, in Spark's format."""
    return _listed(session, statement, "viewName", partial(views, session))


def _listed(
    session: AcidSession,
    statement: ast.ShowTables | ast.ShowViews,
    column: str,
    names: Callable[[str], Iterable[str]],
) -> DataFrame | None:
    """List the objects that Spark and the metastore have in a database.

    Args:
        session: the session.
        statement: the statement; Spark runs its text for Spark's objects.
        column: name of the result column that contains the names.
        names: returns the metastore's names in a database; the statement's pattern filters them.

    Returns:
        None if the metastore does not have the database.
    """
    parts = statement.database or (session.spark.catalog.currentDatabase(),)
    name = qualified(session, (*parts, "t"))
    if name is None or not session.has_database(name[0]):
        return None
    mirror_database(session, name[0])
    others = [tuple(row) for row in session.spark.sql(statement.text).collect()]
    pattern = name_pattern(statement.pattern)
    # The temporary tables of all sessions are shown only on request.
    shows_all = (statement.pattern or "").lower().startswith(TEMPORARY_PREFIX)
    of_metastore = [
        (name[0], one, False)
        for one in names(name[0])
        if pattern.fullmatch(one) and (shows_all or not is_temporary_table(one))
    ]
    rows = sorted({*others, *of_metastore}, key=lambda row: (row[2], row[1]))
    columns = [("namespace", "STRING"), (column, "STRING"), ("isTemporary", "BOOLEAN")]
    return result.table(session.spark, columns, rows)


def views(session: AcidSession, database: str) -> list[str]:
    """Return the names of the metastore's views in a database, sorted."""
    tables = (session.metastore.find_table(database, t) for t in session.metastore.tables(database))
    return [table.name for table in tables if table and table.table_type is TableType.VIEW]


def show_databases(session: AcidSession, statement: ast.ShowDatabases) -> DataFrame | None:
    """Run SHOW DATABASES: list Spark's databases and those of a Hive Metastore.

    Returns:
        None with an embedded metastore, because Spark lists its databases itself.
    """
    is_shared = session.metastore.capabilities.has_other_clients
    if not is_shared or session.spark.catalog.currentCatalog() != CATALOG:
        return None
    pattern = name_pattern(statement.pattern)
    others = {row[0] for row in session.spark.sql(statement.text).collect()}
    of_metastore = {name for name in session.metastore.databases() if pattern.fullmatch(name)}
    rows = [(name,) for name in sorted(others | of_metastore)]
    return result.table(session.spark, [("namespace", "STRING")], rows)


def name_pattern(text: str | None) -> re.Pattern[str]:
    """Compile a name pattern of Spark: a regular expression, except that ``*`` means ``.*``.

    It ignores case. An alternative that is not a regular expression matches nothing.
    """
    valid = []
    for alternative in (text or "*").strip().split("|"):
        with suppress(re.error):
            valid.append(re.compile(alternative.replace("*", ".*")).pattern)
    return re.compile("|".join(f"(?:{a})" for a in valid) or "(?!)", re.IGNORECASE)


def show_partitions(session: AcidSession, statement: ast.ShowPartitions) -> DataFrame | None:
    """Run SHOW PARTITIONS: list names such as ``p=1/q=2``."""
    table = find(session, statement.name)
    if table is None:
        return None
    if not table.partition_columns:
        raise AcidAnalysisError(
            "INVALID_PARTITION_OPERATION.PARTITION_SCHEMA_IS_EMPTY",
            f"{table.full_name} has no partitions: it was created without PARTITIONED BY",
        )
    names = [table.partition_name(p.values) for p in matching(session, table, statement.partition)]
    return result.table(session.spark, [("partition", "STRING")], [(n,) for n in names])


def show_columns(session: AcidSession, statement: ast.ShowColumns) -> DataFrame | None:
    """Run SHOW COLUMNS."""
    table = find(session, (*(statement.database or ()), *statement.name))
    if table is None:
        return None
    rows = [(name,) for name, _, _ in described(session, table)]
    return result.table(session.spark, [("col_name", "STRING")], rows)


def show_tbl_properties(session: AcidSession, statement: ast.ShowTblProperties) -> DataFrame | None:
    """Run SHOW TBLPROPERTIES."""
    table = find(session, statement.name)
    if table is None:
        return None
    rows: Sequence[tuple[str, str]] = sorted(table.properties.items())
    if statement.key is not None:
        missing = f"Table {CATALOG}.{table.full_name} does not have property: {statement.key}"
        rows = [(statement.key, table.properties.get(statement.key, missing))]
    return result.table(session.spark, [("key", "STRING"), ("value", "STRING")], rows)


def show_create_table(session: AcidSession, statement: ast.ShowCreateTable) -> DataFrame | None:
    """Run SHOW CREATE TABLE: return a statement that acidsql can run."""
    table = find(session, statement.name)
    if table is None:
        return None
    text = _create_view_text(table) if table.table_type is TableType.VIEW else _create_text(table)
    return result.table(session.spark, [("createtab_stmt", "STRING")], [(text,)])


def _create_view_text(view: Table) -> str:
    columns = f" ({', '.join(map(_view_column, view.columns))})" if view.columns else ""
    lines = [f"CREATE VIEW {quote(view.database)}.{quote(view.name)}{columns}"]
    if "comment" in view.properties:
        lines.append(f"COMMENT {quoted_string(view.properties['comment'])}")
    # Spark and acidsql use the properties that begin with "view." internally.
    properties = {
        key: value
        for key, value in sorted(view.properties.items())
        if key != "comment" and not key.startswith("view.")
    }
    if properties:
        lines.append(f"TBLPROPERTIES ({property_list(properties)})")
    return " ".join([*lines, f"AS {view.view_text}"])


def _view_column(column: Column) -> str:
    comment = f" COMMENT {quoted_string(column.comment)}" if column.comment else ""
    return f"{quote(column.name)}{comment}"


def _create_text(table: Table) -> str:
    left_out = {"comment", TEMPORARY_PROCESS}
    properties = {k: v for k, v in table.properties.items() if k not in left_out}
    temporary = name_of_temporary_table(table.name)
    head = f"CREATE TABLE {quote(table.database)}.{quote(table.name)}"
    if temporary is not None:
        head = f"CREATE TEMPORARY TABLE {quote(temporary)}"
    lines = [
        f"{head} (",
        ",\n".join(f"  {text}" for text in _inside(table)) + ")",
    ]
    if table.partition_columns:
        columns = ", ".join(_definition(c) for c in table.partition_columns)
        lines.append(f"PARTITIONED BY ({columns})")
    if table.num_buckets:
        columns = ", ".join(map(quote, table.bucket_columns))
        lines.append(f"CLUSTERED BY ({columns}) INTO {table.num_buckets} BUCKETS")
    lines.append(f"STORED AS {table.file_format.value.upper()}")
    if temporary is None:
        lines.append(f"LOCATION {quoted_string(table.location)}")
    if "comment" in table.properties:
        lines.append(f"COMMENT {quoted_string(table.properties['comment'])}")
    lines.append(f"TBLPROPERTIES ({property_list(dict(sorted(properties.items())))})")
    return "\n".join(lines)


def _inside(table: Table) -> list[str]:
    """Return the columns in files and the constraints of a table, as CREATE TABLE writes them."""
    constraints = [f"CONSTRAINT {quote(c.name)} {c.definition}" for c in table.constraints]
    return [*map(_definition, table.columns), *constraints]


def _definition(column: Column) -> str:
    words = [quote(column.name), column.type]
    if not column.nullable:
        words.append("NOT NULL")
    if column.default is not None:
        words.append(f"DEFAULT {column.default}")
    if column.generated is not None:
        words.append(f"GENERATED ALWAYS AS ({column.generated})")
    if column.identity is not None:
        words.append(column.identity)
    if column.comment is not None:
        words.append(f"COMMENT {quoted_string(column.comment)}")
    return " ".join(words)
