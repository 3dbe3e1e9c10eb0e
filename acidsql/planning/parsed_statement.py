"""Statements that Spark has parsed, with their references to tables of the metastore."""

from __future__ import annotations

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from acidsql import bridge
from acidsql.metastore.model import Table
from acidsql.planning.name_resolution import acid_table, find, qualified
from acidsql.session.acid_session import AcidSession

_BEGINS_WITH = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*WITH\b", re.IGNORECASE | re.DOTALL)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedStatement:
    """Parsed statement with its references to tables.

    Attributes:
        plan: plan that is not analysed; common table expressions are resolved.
        references: all references to tables and views.
        tables: tables and views of the metastore, by the parts of the name.
        target: definition of the first reference's table, if the statement changes the columns of
            that table.
        temporary: temporary views that names may refer to, None for all.
        database: for the text of a view, the database where its names are looked up.
    """

    plan: bridge.LogicalPlan
    references: Sequence[bridge.Reference]
    tables: Mapping[tuple[str, ...], Table]
    target: Table | None = None
    temporary: Container[str] | None = None
    database: str | None = None


def parse_and_resolve(
    session: AcidSession,
    text: str,
    temporary: Container[str] | None = None,
    database: str | None = None,
) -> ParsedStatement:
    """Parse a Spark statement, and find the metastore's tables and views that it refers to.

    Raises:
        ParseException: the text is not a statement.
    """
    parsed = parse(session, bridge.substitute_variables(session.spark, text))
    names = dict.fromkeys(r.parts for r in parsed.references)
    looked_up = {parts: find(session, parts, temporary, database) for parts in names}
    tables = {parts: table for parts, table in looked_up.items() if table}
    for r in parsed.references:
        if r.changes is not None and r.parts not in tables:
            _check_has_changes(session, r.parts, database)
    return replace(parsed, tables=tables, temporary=temporary, database=database)


def _check_has_changes(session: AcidSession, parts: Sequence[str], database: str | None) -> None:
    """Raise an error for the changes of a table that is neither an ACID nor a Delta Lake table.

    Spark would only report that it cannot resolve ``table_changes``.
    """
    name = qualified(session, parts, database)
    table = bridge.catalog_table(session.spark, *name) if name is not None else None
    of_delta = parts[0].lower() == "delta" or (table is not None and table.provider == "delta")
    if name is not None and not of_delta:
        acid_table(session, parts)  # raises


def parse(session: AcidSession, text: str) -> ParsedStatement:
    """Parse a statement without resolving its names."""
    plan = bridge.parse(session.spark, text)
    if _BEGINS_WITH.match(text):
        plan = bridge.qualify_target(session.spark, plan)
    plan = bridge.substitute_ctes(session.spark, plan)
    references = bridge.references(session.spark, plan)
    return ParsedStatement(plan=plan, references=references, tables={})


def refers_to_acid(session: AcidSession, text: str) -> bool:
    """Return whether a statement refers to a table or view of the metastore."""
    return bool(parse_and_resolve(session, text).tables)
