"""Lists of databases, tables and columns for the metadata calls of JDBC and ODBC."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from acidsql.commands.describe import described
from acidsql.metastore.model import Table, TableType
from acidsql.metastore.names import is_temporary_table
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.constraints import ConstraintKind
from acidsql.syntax.lexer import quote


def schemas(session: AcidSession, arguments: str) -> str:
    """Return the databases that Spark does not know, as JSON: ``[[name, catalog], …]``.

    Args:
        session: the session.
        arguments: pattern of the names, as JSON.
    """
    (pattern,) = json.loads(arguments)
    return json.dumps(
        [[name, ""] for name in _databases(session, pattern) if not _is_sparks(session, name)]
    )


def tables(session: AcidSession, arguments: str) -> str:
    """Return tables and views, as JSON: ``[[database, name, "TABLE" or "VIEW", comment], …]``.

    Args:
        session: the session.
        arguments: patterns of databases and names, as JSON.
    """
    listed = [
        [
            table.database,
            table.name,
            "VIEW" if table.table_type is TableType.VIEW else "TABLE",
            table.properties.get("comment", ""),
        ]
        for table in _tables(session, *json.loads(arguments))
    ]
    return json.dumps(listed)


def columns(session: AcidSession, arguments: str) -> str:
    """Return the columns of tables and views, as JSON: ``[[database, name, columns], …]``.

    Each column has its name, its type, whether it can be NULL, and its comment.

    Args:
        session: the session.
        arguments: patterns of databases and names, as JSON.
    """
    listed = [
        [table.database, table.name, _columns(session, table)]
        for table in _tables(session, *json.loads(arguments))
    ]
    return json.dumps(listed)


def primary_keys(session: AcidSession, arguments: str) -> str:
    """Return the columns of a table's primary key, as JSON.

    The form is ``[[catalog, database, table, column, number, name of the key], …]``. Numbers begin
    with 1.

    Args:
        session: the session.
        arguments: names of the database and the table, as JSON.
    """
    database, name = json.loads(arguments)
    table = session.metastore.find_table(
        database or session.spark.catalog.currentDatabase(), name or ""
    )
    if table is None:
        return "[]"
    return json.dumps(
        [
            [None, table.database, table.name, column, number, key.name]
            for key in table.constraints
            if key.kind is ConstraintKind.PRIMARY_KEY
            for number, column in enumerate(key.columns, start=1)
        ]
    )


def _columns(session: AcidSession, table: Table) -> list[tuple[str, str, bool, str]]:
    if table.table_type is TableType.VIEW:
        return [(name, kind, True, said or "") for name, kind, said in described(session, table)]
    both = (*table.columns, *table.partition_columns)
    return [(c.name, c.type, c.nullable, c.comment or "") for c in both]


def _tables(session: AcidSession, database: str | None, name: str | None) -> Iterator[Table]:
    pattern = name_pattern(name)
    for one in _databases(session, database):
        for table_name in session.metastore.tables(one):
            # The table may have been dropped after it was listed.
            table = (
                session.metastore.find_table(one, table_name)
                if pattern.fullmatch(table_name) and not is_temporary_table(table_name)
                else None
            )
            if table is not None:
                yield table


def _databases(session: AcidSession, pattern: str | None) -> list[str]:
    wanted = name_pattern(pattern)
    return [name for name in session.metastore.databases() if wanted.fullmatch(name)]


def _is_sparks(session: AcidSession, name: str) -> bool:
    return bool(session.spark.catalog.databaseExists(f"spark_catalog.{quote(name)}"))


def name_pattern(text: str | None) -> re.Pattern[str]:
    r"""Compile a JDBC pattern: ``%`` is any text, ``_`` any character, and ``\`` escapes them.

    The comparison ignores case. As in Spark, the text ``*``, an empty text and None match all
    names.

    >>> bool(name_pattern("sales\\_%").fullmatch("SALES_2024"))
    True
    """
    if text in (None, "", "*"):
        return re.compile(".*", re.DOTALL)
    parts = re.findall(r"\\.|.", str(text), re.DOTALL)
    wild = {"%": ".*", "_": "."}
    return re.compile(
        "".join(wild.get(part) or re.escape(part[-1]) for part in parts), re.IGNORECASE | re.DOTALL
    )
