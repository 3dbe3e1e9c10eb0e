"""Reflection, which reports tables, views and columns to SQLAlchemy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import Connection, reflection
from sqlalchemy.engine.default import DefaultDialect

from acidsql.format.identifiers import lowered
from acidsql.sqlalchemy.types import type_of
from acidsql.syntax.constraints import Constraint, ConstraintKind
from acidsql.syntax.described import Described, described
from acidsql.syntax.identity import Identity
from acidsql.syntax.lexer import quote

# Properties of each kind of constraint that SQLAlchemy requests, in addition to the name.
_REFLECTED: dict[ConstraintKind, Callable[[Constraint], dict[str, Any]]] = {
    ConstraintKind.PRIMARY_KEY: lambda key: {"constrained_columns": list(key.columns)},
    ConstraintKind.UNIQUE: lambda key: {"column_names": list(key.columns)},
    ConstraintKind.CHECK: lambda check: {"sqltext": check.expression},
    ConstraintKind.FOREIGN_KEY: lambda key: {
        "constrained_columns": list(key.columns),
        "referred_schema": key.parent[0],
        "referred_table": key.parent[-1],
        "referred_columns": list(key.parent_columns),
        "options": {},
    },
}


class Reflection(DefaultDialect):
    """Part of the dialect that reports tables, which never have indexes."""

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
        """Return whether a table or view with a name exists, in any case."""
        listed = (lowered(name) for name, _ in _tables(connection, schema, None))
        return lowered(table_name) in listed

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the name, type, nullability, default, comment and generation of each column.

        Raises:
            NoSuchTableError: the table or view does not exist.
        """
        table = self._described(connection, table_name, schema, **kw)
        return [
            {
                "name": name,
                "type": type_of(kind),
                "nullable": name not in table.not_null,
                "default": table.defaults.get(name),
                "comment": comment or None,
                **_computed(table.generated.get(name)),
                **_identity(table.identities.get(name)),
            }
            for name, kind, comment in table.columns
        ]

    @reflection.cache
    def get_table_comment(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """Return the comment of a table or view.

        Raises:
            NoSuchTableError: the table or view does not exist.
        """
        table = self._described(connection, table_name, schema, **kw)
        return {"text": table.details.get("Comment")}

    @reflection.cache
    def get_view_definition(
        self, connection: Connection, view_name: str, schema: str | None = None, **kw: Any
    ) -> str:
        """Return the query of a view.

        Raises:
            NoSuchTableError: the view does not exist.
        """
        view = self._described(connection, view_name, schema, **kw)
        if "View Text" not in view.details:
            raise exc.NoSuchTableError(view_name)
        return view.details["View Text"]

    @reflection.cache
    def _described(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Described:
        if not self.has_table(connection, table_name, schema, **kw):
            raise exc.NoSuchTableError(table_name)
        name = ".".join(quote(part) for part in (schema, table_name) if part)
        return described(connection.exec_driver_sql(f"DESCRIBE EXTENDED {name}").all())

    def _constraints(
        self,
        kind: ConstraintKind,
        connection: Connection,
        table_name: str,
        schema: str | None,
        **kw: Any,
    ) -> list[dict[str, Any]]:
        """Return the constraints of a kind.

        Raises:
            NoSuchTableError: the table or view does not exist.
        """
        table = self._described(connection, table_name, schema, **kw)
        return [{"name": one.name, **_REFLECTED[kind](one)} for one in table.of_kind(kind)]

    @reflection.cache
    def get_pk_constraint(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> Any:
        """Return the primary key, which nothing enforces."""
        keys = self._constraints(ConstraintKind.PRIMARY_KEY, connection, table_name, schema, **kw)
        return keys[0] if keys else {"constrained_columns": [], "name": None}

    @reflection.cache
    def get_foreign_keys(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the foreign keys, which nothing enforces.

        A key that refers to a table in the same database has a schema only if ``schema`` is given.
        """
        keys = self._constraints(ConstraintKind.FOREIGN_KEY, connection, table_name, schema, **kw)
        database = self._described(connection, table_name, schema, **kw).details.get("Database")
        return [
            {**key, "referred_schema": None}
            if schema is None and key["referred_schema"] == database
            else key
            for key in keys
        ]

    def get_indexes(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return an empty list, because there are no indexes."""
        return []

    @reflection.cache
    def get_unique_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the UNIQUE constraints, which nothing enforces."""
        return self._constraints(ConstraintKind.UNIQUE, connection, table_name, schema, **kw)

    @reflection.cache
    def get_check_constraints(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return the CHECK constraints."""
        return self._constraints(ConstraintKind.CHECK, connection, table_name, schema, **kw)


def _computed(expression: str | None) -> dict[str, Any]:
    """Return the reflection of a generated column; its values are stored in the files."""
    return {} if expression is None else {"computed": {"sqltext": expression, "persisted": True}}


def _identity(identity: Identity | None) -> dict[str, Any]:
    """Return the reflection of an identity column."""
    if identity is None:
        return {}
    return {
        "identity": {
            "always": identity.always,
            "start": identity.start,
            "increment": identity.increment,
        }
    }


def _tables(
    connection: Connection, schema: str | None, temporary: bool | None
) -> Sequence[tuple[str, bool]]:
    """Return the names of tables and views, and whether each is temporary.

    Args:
        connection: the connection.
        schema: the database; None is the current one.
        temporary: True for only temporary views, False for all others, None for both.
    """
    place = f" IN {quote(schema)}" if schema else ""
    rows = connection.exec_driver_sql(f"SHOW TABLES{place}").fetchall()
    return [(row[1], row[2]) for row in rows if temporary is None or row[2] is temporary]


def _views(connection: Connection, schema: str | None) -> set[str]:
    """Return the names of the views of a database, in Spark and in the metastore."""
    place = f" IN {quote(schema)}" if schema else ""
    rows = connection.exec_driver_sql(f"SHOW VIEWS{place}").fetchall()
    return {row[1] for row in rows if not row[2]}
