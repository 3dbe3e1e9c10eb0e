"""Dialect ``acidsql`` of SQLAlchemy, which uses the DB-API of ``acidsql.connect``."""

from __future__ import annotations

from collections.abc import Sequence
from types import ModuleType
from typing import Any

from sqlalchemy import exc, schema
from sqlalchemy.engine import URL, Connection

from acidsql.sqlalchemy.compiler import (
    SparkCompiler,
    SparkDDLCompiler,
    SparkIdentifierPreparer,
    SparkTypeCompiler,
)
from acidsql.sqlalchemy.reflection import Reflection
from acidsql.sqlalchemy.types import COLSPECS

_CONSTRUCT_ARGUMENTS = [(schema.Table, {"properties": None})]


class AcidSqlDialect(Reflection):
    """Dialect ``acidsql``."""

    name = "acidsql"
    driver = "acidsql"
    default_paramstyle = "qmark"
    statement_compiler = SparkCompiler
    ddl_compiler = SparkDDLCompiler
    type_compiler_cls = SparkTypeCompiler
    preparer: Any = SparkIdentifierPreparer
    colspecs: Any = COLSPECS
    construct_arguments: Any = _CONSTRUCT_ARGUMENTS
    supports_statement_cache = True
    supports_alter = True
    supports_identity_columns = True
    supports_comments = True
    inline_comments = True
    supports_default_values = False
    supports_empty_insert = False
    supports_multivalues_insert = True
    supports_native_boolean = True
    supports_native_decimal = True
    supports_sane_multi_rowcount = True
    supports_views = True
    postfetch_lastrowid = False
    max_identifier_length = 128

    @classmethod
    def import_dbapi(cls) -> ModuleType:
        """Return the module of the DB-API."""
        from acidsql import dbapi  # noqa: PLC0415 - when an engine is made

        return dbapi

    def create_connect_args(self, url: URL) -> tuple[list[Any], dict[str, Any]]:
        """Return the arguments of ``acidsql.connect`` for a URL: ``acidsql:///database``.

        Raises:
            ArgumentError: the URL has a host, a user or options.
        """
        if url.host or url.username or url.port or url.query:
            raise exc.ArgumentError(
                f"{url!r}: the session is in this process, write acidsql:// or acidsql:///database"
            )
        return [], {"database": url.database} if url.database else {}

    def _get_default_schema_name(self, connection: Connection) -> str:
        return str(connection.exec_driver_sql("SELECT current_database()").scalar())

    def _get_server_version_info(self, connection: Connection) -> None:  # noqa: ARG002
        return None

    def get_isolation_level_values(self, dbapi_conn: Any) -> Sequence[Any]:  # noqa: ARG002
        """Return the isolation levels: transactions, or a commit after each statement."""
        return ("SNAPSHOT", "AUTOCOMMIT")

    def get_isolation_level(self, dbapi_connection: Any) -> Any:
        """Return the isolation level of a connection."""
        return "AUTOCOMMIT" if dbapi_connection.autocommit else "SNAPSHOT"

    def set_isolation_level(self, dbapi_connection: Any, level: Any) -> None:
        """Set the isolation level of a connection."""
        dbapi_connection.autocommit = level == "AUTOCOMMIT"

    def get_default_isolation_level(self, dbapi_conn: Any) -> Any:
        """Return the isolation level of new connections."""
        return self.get_isolation_level(dbapi_conn)

    def do_execute(
        self,
        cursor: Any,
        statement: str,
        parameters: Any,
        context: Any | None = None,  # noqa: ARG002
    ) -> None:
        """Run a statement, unless it is empty, like the statements for indexes."""
        if statement.strip():
            cursor.execute(statement, parameters)

    def do_savepoint(self, connection: Connection, name: str) -> None:  # noqa: ARG002
        """Refuse a savepoint.

        Raises:
            InvalidRequestError: always.
        """
        raise exc.InvalidRequestError(
            "begin_nested: there are no savepoints; a statement that fails rolls back only itself"
        )

    def do_ping(self, dbapi_connection: Any) -> bool:
        """Return whether a connection is open."""
        dbapi_connection.cursor().close()
        return True

    def is_disconnect(self, e: Any, connection: Any, cursor: Any) -> bool:  # noqa: ARG002
        """Return whether an error means that the connection is closed."""
        return isinstance(e, self.loaded_dbapi.InterfaceError) and "connection is closed" in str(e)
