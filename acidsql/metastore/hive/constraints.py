"""Constraints, which Hive stores separately from the table.

NOT NULL and DEFAULT count only if Hive enforces them (ENABLE).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from acidsql.format.identifiers import lowered
from acidsql.metastore.hive import table_constraints
from acidsql.metastore.hive.conversions import ColumnConstraints
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CATALOG, Server
from acidsql.metastore.hive.table_constraints import Structures, from_structures, to_structures
from acidsql.metastore.model import Table


def of_table(server: Server, database: str, name: str) -> ColumnConstraints:
    """Return the constraints of a table that exists."""
    fetched = _fetched(server, database, name)
    # Hive 3.1 forgets the columns of a constraint when another client alters the table.
    not_null, defaults = (
        [c for c in constraints if c.column_name and c.enable_cstr]
        for constraints in (fetched.not_null, fetched.defaults)
    )
    return ColumnConstraints(
        not_null=frozenset(lowered(c.column_name) for c in not_null),
        defaults={lowered(c.column_name): c.default_value for c in defaults},
        others=from_structures(fetched.others),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """All constraints of a table, as structures of ``hms``."""

    not_null: list[Any]
    defaults: list[Any]
    others: Structures


def for_new_table(table: Table) -> Fetched:
    """Return the constraints of a new table."""
    wanted = _wanted(table)
    return Fetched(
        not_null=_not_null(table, wanted.not_null),
        defaults=_defaults(table, wanted.defaults),
        others=to_structures(table, wanted.others),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstraintChanges:
    """Changes of constraints that a new definition of a table requires.

    Attributes:
        dropped: names of constraints to drop before the alteration of the table, which may drop
            their columns.
        not_null: NOT NULL constraints to add after the alteration, because their columns may be
            new.
        defaults: DEFAULT constraints to add after the alteration.
        others: other constraints to add after the alteration.
    """

    dropped: tuple[str, ...]
    not_null: tuple[Any, ...]
    defaults: tuple[Any, ...]
    others: Structures


def changes(
    server: Server, table: Table, *, recreate: bool, before: Table | None = None
) -> ConstraintChanges:
    """Return the changes of constraints that the new definition of a table requires.

    Args:
        before: its definition before, if it is known. CHECK constraints and keys that it does not
            contain were added by other clients since, and stay.
        recreate: True to drop all constraints and add them again. This is necessary if the table's
            columns change in Hive 3.1, which then forgets the columns of its constraints.
    """
    fetched = _fetched(server, lowered(table.database), lowered(table.name))
    not_null, defaults, others = fetched.not_null, fetched.defaults, from_structures(fetched.others)
    wanted = _wanted(table)
    unchanged: set[str] = set()
    if not recreate:
        unchanged |= {
            c.nn_name for c in not_null if c.enable_cstr and c.column_name in wanted.not_null
        }
        unchanged |= {
            c.dc_name
            for c in defaults
            if c.enable_cstr and wanted.defaults.get(c.column_name) == c.default_value
        }
    unchanged_columns = {c.column_name for c in not_null if c.nn_name in unchanged}
    unchanged_defaults = {c.column_name for c in defaults if c.dc_name in unchanged}
    names_in_table = {c.name for c in wanted.others}
    removed = {c.name for c in (others if before is None else before.constraints)} - names_in_table
    target = (*(c for c in others if c.name not in removed | names_in_table), *wanted.others)
    same_others = () if recreate else tuple(c for c in target if c in others)
    unchanged |= {c.name for c in same_others}
    names = [c.nn_name for c in not_null] + [c.dc_name for c in defaults]
    names += [c.name for c in others]
    return ConstraintChanges(
        dropped=tuple(name for name in names if name not in unchanged),
        others=to_structures(table, [c for c in target if c not in same_others]),
        not_null=tuple(_not_null(table, wanted.not_null - unchanged_columns)),
        defaults=tuple(
            _defaults(
                table, {c: t for c, t in wanted.defaults.items() if c not in unchanged_defaults}
            )
        ),
    )


def drop(server: Server, table: Table, dropped: Iterable[str]) -> None:
    """Drop constraints by name."""
    for constraint in dropped:
        request = hms.DropConstraintRequest(
            dbname=lowered(table.database),
            tablename=lowered(table.name),
            constraintname=constraint,
            catName=CATALOG,
        )
        server.call("drop_constraint", request)


def add(server: Server, changed: ConstraintChanges) -> None:
    """Add the constraints of ``changed``."""
    if changed.not_null:
        request = hms.AddNotNullConstraintRequest(notNullConstraintCols=list(changed.not_null))
        server.call("add_not_null_constraint", request, repeatable=False)
    if changed.defaults:
        request = hms.AddDefaultConstraintRequest(defaultConstraintCols=list(changed.defaults))
        server.call("add_default_constraint", request, repeatable=False)
    table_constraints.add(server, changed.others)


def _fetched(server: Server, database: str, name: str) -> Fetched:
    """Return the server's constraints, with one call to Hive 4, otherwise one for each kind."""
    request = hms.AllTableConstraintsRequest(dbName=database, tblName=name, catName=CATALOG)
    answer = server.call_if_known("get_all_table_constraints", request) if server.is_hive4 else None
    if answer is not None:
        structures = answer.allTableConstraints
        return Fetched(
            not_null=structures.notNullConstraints or [],
            defaults=structures.defaultConstraints or [],
            others=Structures(
                primary_keys=structures.primaryKeys or [],
                foreign_keys=structures.foreignKeys or [],
                unique=structures.uniqueConstraints or [],
                checks=structures.checkConstraints or [],
            ),
        )
    not_null = hms.NotNullConstraintsRequest(catName=CATALOG, db_name=database, tbl_name=name)
    defaults = hms.DefaultConstraintsRequest(catName=CATALOG, db_name=database, tbl_name=name)
    return Fetched(
        not_null=server.call("get_not_null_constraints", not_null).notNullConstraints,
        defaults=server.call("get_default_constraints", defaults).defaultConstraints,
        others=table_constraints.fetched(server, database, name),
    )


def _wanted(table: Table) -> ColumnConstraints:
    columns = [*table.columns, *table.partition_columns]
    return ColumnConstraints(
        not_null=frozenset(lowered(c.name) for c in columns if not c.nullable),
        defaults={lowered(c.name): c.default for c in columns if c.default is not None},
        others=tuple(replace(c, columns=tuple(map(lowered, c.columns))) for c in table.constraints),
    )


def _not_null(table: Table, columns: frozenset[str]) -> list[Any]:
    return [hms.SQLNotNullConstraint(**_common(table, column)) for column in sorted(columns)]


def _defaults(table: Table, defaults: Mapping[str, str]) -> list[Any]:
    return [
        hms.SQLDefaultConstraint(**_common(table, column), default_value=text)
        for column, text in sorted(defaults.items())
    ]


def _common(table: Table, column: str) -> dict[str, Any]:
    """Return the common fields of constraints, which are enforced only for new rows."""
    return {
        "catName": CATALOG,
        "table_db": lowered(table.database),
        "table_name": lowered(table.name),
        "column_name": column,
        "enable_cstr": True,
        "validate_cstr": False,
        "rely_cstr": False,
    }
