"""Resolution of names to tables and views of the metastore."""

from __future__ import annotations

from collections.abc import Container, Sequence

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Table, TableType
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

CATALOG = "spark_catalog"


def qualified(
    session: AcidSession, parts: Sequence[str], database: str | None = None
) -> tuple[str, str] | None:
    """Return database and name in lower case, or None if the name is in another catalog.

    Args:
        session: the session.
        parts: parts of the name.
        database: database of ``spark_catalog`` where the names in the text of a view are looked up;
            None means the session's current database.
    """
    names = list(map(lowered, parts))
    if len(names) == 3 and names[0] == CATALOG:
        return names[1], names[2]
    if database is not None and len(names) <= 2:
        return (lowered(database), names[0]) if len(names) == 1 else (names[0], names[1])
    if len(names) > 2:
        return None
    catalog, current = bridge.current_namespace(session.spark)
    if catalog != CATALOG:
        return None
    return (names[0], names[1]) if len(names) == 2 else (lowered(current), names[0])


def find(
    session: AcidSession,
    parts: Sequence[str],
    temporary: Container[str] | None = None,
    database: str | None = None,
) -> Table | None:
    """Find the metastore's table or view that a name refers to.

    As in Spark, a temporary view takes precedence.

    Args:
        session: the session.
        parts: parts of the name.
        temporary: in the text of a view, the temporary views that it may refer to; None means all.
        database: in the text of a view, the database where its names are looked up.
    """
    if names_temp_view(session, parts, temporary):
        view = session.temp_views.find(parts)
        return None if view is None else _current(session, view)
    name = qualified(session, parts, database)
    return session.metastore.find_table(*name) if name else None


def temporary_table(session: AcidSession, parts: Sequence[str]) -> Table | None:
    """Return the temporary table of this name with its current definition, or None."""
    view = session.temp_views.find(parts)
    if view is None or view.table_type is TableType.VIEW:
        return None
    return _current(session, view)


def _current(session: AcidSession, view: Table) -> Table | None:
    """Return a temporary view, or the current definition of a temporary table."""
    if view.table_type is TableType.VIEW:
        return view
    return session.metastore.find_table(view.database, view.name)


def in_metastore(session: AcidSession, parts: Sequence[str]) -> bool:
    """Return whether the metastore has a table or view of this name, ignoring temporary views."""
    name = qualified(session, parts)
    return name is not None and session.metastore.find_table(*name) is not None


def already_exists(parts: Sequence[str]) -> AcidAnalysisError:
    """Build the error TABLE_OR_VIEW_ALREADY_EXISTS for a new table or view."""
    return AcidAnalysisError(
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        f"{'.'.join(parts)} exists already: use another name, IF NOT EXISTS, or drop it first",
        {"relationName": quoted_name(parts)},
    )


def names_temp_view(
    session: AcidSession, parts: Sequence[str], temporary: Container[str] | None = None
) -> bool:
    """Return whether a name refers to a temporary view, in ``temporary`` if that is given."""
    known = temporary is None or len(parts) > 1 or lowered(parts[0]) in temporary
    return known and bridge.is_temp_view(session.spark, parts)


def known_to_spark(session: AcidSession, parts: Sequence[str]) -> bool:
    """Return whether Spark's own catalog has a table or view of this name."""
    name = ".".join(map(quote, parts))
    return bridge.is_temp_view(session.spark, parts) or bool(
        session.spark.catalog.tableExists(name)
    )


def is_of_delta(session: AcidSession, parts: Sequence[str]) -> bool:
    """Return whether a statement that Delta Lake also supports is about a Delta Lake table."""
    place = qualified(session, parts)
    if place is None:
        return True  # a table of another catalog
    if find(session, parts) is not None:
        return False
    if parts[0].lower() == "delta" and len(parts) == 2:
        return not session.has_database("delta")  # delta.`/path`
    table = bridge.catalog_table(session.spark, *place)
    return table is not None and table.provider == "delta"


def find_acid_table(session: AcidSession, parts: Sequence[str]) -> Table | None:
    """Find the transactional table that a name refers to.

    Returns:
        None for views, which Spark's analyser handles, and for names that are not in the metastore.
    """
    table = find(session, parts)
    return table if table is not None and table.table_type is TableType.MANAGED else None


def acid_table(session: AcidSession, parts: Sequence[str]) -> Table:
    """Find the transactional table that a name refers to.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, NOT_A_TRANSACTIONAL_TABLE.
    """
    table = find(session, parts)
    name = ".".join(parts)
    if table is None and names_temp_view(session, parts):
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW", f"{name} is a temporary view: name a table"
        )
    if table is None and known_to_spark(session, parts):
        raise AcidAnalysisError(
            "NOT_A_TRANSACTIONAL_TABLE",
            f"{name} is not a transactional table: create one with STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true')",
        )
    if table is None:
        raise AcidLookupError(
            "TABLE_OR_VIEW_NOT_FOUND",
            f"there is no table {name}: check the spelling, the current database (USE) and SHOW "
            f"TABLES",
            {"relationName": quoted_name(parts)},
        )
    if table.table_type is TableType.VIEW:
        raise AcidAnalysisError("EXPECT_TABLE_NOT_VIEW", f"{name} is a view: name a table")
    return table
