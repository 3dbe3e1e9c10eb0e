"""Tables, views and columns, as SQLAlchemy asks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import Connection, reflection
from sqlalchemy.engine.default import DefaultDialect

from acidsql.format.identifiers import lowered
from acidsql.sqlalchemy.types import type_of
from acidsql.syntax.constraints import Constraint, ConstraintKind, parse_constraint
from acidsql.syntax.lexer import quote


@dataclass(frozen=True, slots=True, kw_only=True)
class Description:
    """Answer of DESCRIBE EXTENDED about a table.

    Attributes:
        columns: name, type and comment of each.
        details: of the table, by their names.
        defaults: of columns, as SQL.
        not_null: columns that are NOT NULL.
        constraints: others, which have their names.
    """

    columns: Sequence[tuple[str, str, str | None]]
    details: Mapping[str, str]
    defaults: Mapping[str, str]
    not_null: frozenset[str]
    constraints: Sequence[Constraint] = ()

    def of_kind(self, kind: ConstraintKind) -> list[Constraint]:
        """Return the constraints of a kind."""
        return [constraint for constraint in self.constraints if constraint.kind is kind]


def description_of(rows: Iterable[Sequence[Any]]) -> Description:
    """Return what the rows of DESCRIBE EXTENDED tell.

    A heading begins with # and has no type; a column may begin so too, and has one.
    """
    sections: dict[str, list[tuple[str, str, str | None]]] = {"": []}
    section = ""
    for name, kind, comment in rows:
        if kind:
            sections[section].append((name, kind, comment))
        elif name.startswith("#"):
            section = name
            sections[section] = []
    columns = sections[""]
    details = {name: value for name, value, _ in sections.get("# Detailed Table Information", ())}
    defaults = {name: value or "" for name, _, value in sections.get("# Column Default Values", ())}
    return Description(
        columns=columns,
        details=details,
        defaults=defaults,
        not_null=_listed(details.get("Not Null", ""), [name for name, _, _ in columns]),
        constraints=[
            replace(constraint, name=name)
            for name, text, _ in sections.get("# Constraints", ())
            if (constraint := parse_constraint(text)) is not None
        ],
    )


def _listed(text: str, names: Iterable[str]) -> frozenset[str]:
    """Return which names a list has that is in their order, whatever characters are in them."""
    found = set()
    for name in names:
        if text == name or text.startswith(f"{name}, "):
            found.add(name)
            text = text[len(name) + 2 :]
    return frozenset(found)


class Reflection(DefaultDialect):
    """Part of the dialect that tells of tables; there are no indexes."""

    @reflection.cache
    def get_schema_names(self, connection: Connection, **kw: Any) -> list[str]:  # noqa: ARG002
        """Return the names of the databases."""
        return [row[0] for row in connection.exec_driver_sql("SHOW DATABASES")]

    @reflection.cache
    def get_table_names(
        self,
        connection: Connection,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[str]:
        """Return the names of the tables of a database."""
        views = set(_views(connection, schema))
        return [name for name, _ in _tables(connection, schema, False) if name not in views]

    @reflection.cache
    def get_view_names(
        self,
        connection: Connection,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[str]:
        """Return the names of the views of a database."""
        return sorted(_views(connection, schema))

    @reflection.cache
    def get_temp_view_names(
        self,
        connection: Connection,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> list[str]:
        """Return the names of the session's temporary views."""
        return [name for name, _ in _tables(connection, schema, True)]

    @reflection.cache
    def has_table(
        self,
        connection: Connection,
        table_name: str,
        schema: str | None = None,
        **kw: Any,  # noqa: ARG002
    ) -> bool:
        """Return whether there is a table or view of a name; case does not matter."""
        listed = (lowered(name) for name, _ in _tables(connection, schema, None))
        return lowered(table_name) in listed

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return name, type, nullability, default and comment of the columns.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        return [
            {
                "name": name,
                "type": type_of(kind),
                "nullable": name not in found.not_null,
                "default": found.defaults.get(name),
                "comment": comment or None,
            }
            for name, kind, comment in found.columns
        ]

    @reflection.cache
    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """Return the comment of a table or view.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        return {"text": found.details.get("Comment")}

    @reflection.cache
    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """Return the query of a view.

        Raises:
            NoSuchTableError: there is no such view.
        """
        found = self._described(connection, view_name, schema, **kw)
        if "View Text" not in found.details:
            raise exc.NoSuchTableError(view_name)
        return found.details["View Text"]

    @reflection.cache
    def _described(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Description:
        if not self.has_table(connection, table_name, schema, **kw):
            raise exc.NoSuchTableError(table_name)
        name = ".".join(quote(part) for part in (schema, table_name) if part)
        return description_of(connection.exec_driver_sql(f"DESCRIBE EXTENDED {name}").all())

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """Return the primary key, which nothing enforces.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        for key in found.of_kind(ConstraintKind.PRIMARY_KEY):
            return {"constrained_columns": list(key.columns), "name": key.name}
        return {"constrained_columns": [], "name": None}

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the foreign keys, which nothing enforces. One of a table in the same database has
        a schema if ``schema`` is given.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        own = found.details.get("Database")
        return [
            {
                "name": key.name,
                "constrained_columns": list(key.columns),
                "referred_schema": (
                    None if (schema, key.parent[0]) == (None, own) else key.parent[0]
                ),
                "referred_table": key.parent[-1],
                "referred_columns": list(key.parent_columns),
                "options": {},
            }
            for key in found.of_kind(ConstraintKind.FOREIGN_KEY)
        ]

    def get_indexes(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return none."""
        return []

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return what is declared to be unique, which nothing enforces.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        return [
            {"name": key.name, "column_names": list(key.columns)}
            for key in found.of_kind(ConstraintKind.UNIQUE)
        ]

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the CHECK constraints.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        found = self._described(connection, table_name, schema, **kw)
        return [
            {"name": check.name, "sqltext": check.expression}
            for check in found.of_kind(ConstraintKind.CHECK)
        ]


def _tables(
    connection: Connection, schema: str | None, temporary: bool | None
) -> Sequence[tuple[str, bool]]:
    """Return the names of tables and views, and whether each is temporary.

    Args:
        connection: the connection.
        schema: the database; None is the current one.
        temporary: whether those are wanted that are temporary, or those that are not; None means
            both.
    """
    place = f" IN {quote(schema)}" if schema else ""
    rows = connection.exec_driver_sql(f"SHOW TABLES{place}").fetchall()
    return [(row[1], row[2]) for row in rows if temporary is None or row[2] is temporary]


def _views(connection: Connection, schema: str | None) -> set[str]:
    """Return the names of the views of a database, Spark's and the metastore's."""
    place = f" IN {quote(schema)}" if schema else ""
    rows = connection.exec_driver_sql(f"SHOW VIEWS{place}").fetchall()
    return {row[1] for row in rows if not row[2]}
