"""Which table or view a name means."""

from __future__ import annotations

from collections.abc import Container, Sequence

from acidsql import bridge
from acidsql.errors import AcidAnalysisError, AcidLookupError, quoted_name
from acidsql.metastore.model import Table, TableType
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

CATALOG = "spark_catalog"


def qualified(session: AcidSession, parts: Sequence[str]) -> tuple[str, str] | None:
    """Database and name, or None if the name cannot be one of the metastore's."""
    names = [p.lower() for p in parts]
    catalog = session.spark.catalog
    if len(names) == 3 and names[0] == CATALOG:
        return names[1], names[2]
    if len(names) > 2 or catalog.currentCatalog() != CATALOG:
        return None
    if len(names) == 2:
        return names[0], names[1]
    return catalog.currentDatabase().lower(), names[0]


def find(
    session: AcidSession, parts: Sequence[str], temporary: Container[str] | None = None
) -> Table | None:
    """The metastore's table or view that a name means; temporary views come first, as in Spark.

    Args:
        session: the session.
        parts: the name.
        temporary: in the text of a view, the temporary views that it may name; None means all.
    """
    if names_temp_view(session, parts, temporary):
        return session.temp_views.find(parts)
    name = qualified(session, parts)
    return session.metastore.find_table(*name) if name else None


def in_metastore(session: AcidSession, parts: Sequence[str]) -> bool:
    """Whether the metastore has a table or view of this name, temporary views left aside."""
    name = qualified(session, parts)
    return name is not None and session.metastore.find_table(*name) is not None


def already_exists(parts: Sequence[str]) -> AcidAnalysisError:
    """The error that the name of a new table or view is taken."""
    return AcidAnalysisError(
        "TABLE_OR_VIEW_ALREADY_EXISTS",
        f"{'.'.join(parts)} exists already: use another name, IF NOT EXISTS, or drop it first",
        {"relationName": quoted_name(parts)},
    )


def names_temp_view(
    session: AcidSession, parts: Sequence[str], temporary: Container[str] | None = None
) -> bool:
    """Whether a name means a temporary view, one of ``temporary`` if that is given."""
    known = temporary is None or len(parts) > 1 or parts[0].lower() in temporary
    return known and bridge.is_temp_view(session.spark, parts)


def known_to_spark(session: AcidSession, parts: Sequence[str]) -> bool:
    """Whether Spark itself has a table or view of this name."""
    name = ".".join(map(quote, parts))
    return bridge.is_temp_view(session.spark, parts) or bool(
        session.spark.catalog.tableExists(name)
    )


def find_acid_table(session: AcidSession, parts: Sequence[str]) -> Table | None:
    """The transactional table that a name means, or None: views and other tables
    are Spark's to handle.
    """
    table = find(session, parts)
    return table if table is not None and table.table_type is TableType.MANAGED else None


def acid_table(session: AcidSession, parts: Sequence[str]) -> Table:
    """The transactional table that a name means.

    Raises:
        AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, NOT_A_TRANSACTIONAL_TABLE.
    """
    table = find(session, parts)
    name = ".".join(parts)
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
