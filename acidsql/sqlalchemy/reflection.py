"""Tables, views and columns, as SQLAlchemy asks for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import exc
from sqlalchemy.engine import Connection, reflection
from sqlalchemy.engine.default import DefaultDialect

from acidsql.sqlalchemy.types import type_of
from acidsql.syntax.lexer import quote


class Reflection(DefaultDialect):
    """Part of the dialect that tells of tables; there are no keys and no indexes."""

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
        listed = (name.lower() for name, _ in _tables(connection, schema, None))
        return table_name.lower() in listed

    @reflection.cache
    def get_columns(
        self, connection: Connection, table_name: str, schema: str | None = None, **kw: Any
    ) -> list[Any]:
        """Return name, type, nullability and comment of the columns.

        Raises:
            NoSuchTableError: there is no such table or view.
        """
        if not self.has_table(connection, table_name, schema, **kw):
            raise exc.NoSuchTableError(table_name)
        name = ".".join(quote(part) for part in (schema, table_name) if part)
        found = []
        for column, kind, comment in connection.exec_driver_sql(f"DESCRIBE {name}"):
            if not column or column.startswith("#"):
                break  # what follows is about partitions
            found.append(
                {
                    "name": column,
                    "type": type_of(kind),
                    "nullable": True,
                    "default": None,
                    "comment": comment or None,
                }
            )
        return found

    def get_pk_constraint(
        self,
        connection: Connection,  # noqa: ARG002
        table_name: str,  # noqa: ARG002
        schema: str | None = None,  # noqa: ARG002
        **kw: Any,  # noqa: ARG002
    ) -> Any:
        """Return that there is no primary key."""
        return {"constrained_columns": [], "name": None}

    def get_foreign_keys(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return none."""
        return []

    def get_indexes(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return none."""
        return []

    def get_unique_constraints(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return none."""
        return []

    def get_check_constraints(self, *_: Any, **kw: Any) -> list[Any]:  # noqa: ARG002
        """Return none."""
        return []


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
