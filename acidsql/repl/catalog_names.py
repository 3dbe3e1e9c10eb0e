"""Names of tables and columns for completion."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException

from acidsql.repl.named_tables import plain
from acidsql.repl.runner import Result
from acidsql.syntax.described import described


class CatalogNames:
    """Cache of names, which is valid until a statement runs that may change them.

    Args:
        ask: function that runs a statement of Spark's dialect.
    """

    def __init__(self, ask: Callable[[str], Result]) -> None:
        self._ask = ask
        self._databases: tuple[str, ...] | None = None
        self._functions: tuple[str, ...] | None = None
        self._tables: dict[str | None, tuple[str, ...]] = {}
        self._columns: dict[str, tuple[str, ...]] = {}
        self._constraints: dict[str, tuple[str, ...]] = {}
        self._tags: dict[str, tuple[str, ...]] = {}

    def forget(self, *, functions: bool = False) -> None:
        """Clear the cache; keep the functions unless they may have changed."""
        self._databases = None
        self._tables = {}
        self._columns = {}
        self._constraints = {}
        self._tags = {}
        if functions:
            self._functions = None

    def databases(self) -> tuple[str, ...]:
        """Return the databases."""
        if self._databases is None:
            self._databases = self._values("SHOW DATABASES")
        return self._databases

    def functions(self) -> tuple[str, ...]:
        """Return the functions, including operators that Spark lists as functions."""
        if self._functions is None:
            self._functions = self._values("SHOW FUNCTIONS")
        return self._functions

    def tables(self, database: str | None = None) -> tuple[str, ...]:
        """Return the tables and views of a database, named as in SQL; by default the current."""
        key = None if database is None else plain(database)
        if key not in self._tables:
            place = "" if database is None else f" IN {database}"
            self._tables[key] = self._values(f"SHOW TABLES{place}", "tableName")
        return self._tables[key]

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, named as in SQL; none if the table does not exist."""
        key = plain(table)
        if key not in self._columns:
            # A name without a database can also be defined by the statement itself.
            is_there = "." in table or key in {name.lower() for name in self.tables()}
            names = self._values(f"SHOW COLUMNS IN {table}", "col_name") if is_there else ()
            self._columns[key] = names
        return self._columns[key]

    def constraints(self, table: str) -> tuple[str, ...]:
        """Return the named constraints of a table; none if the table does not exist."""
        key = plain(table)
        if key not in self._constraints:
            result = self._answer(f"DESCRIBE EXTENDED {table}")
            listed = () if result is None else described(result.rows).constraints
            self._constraints[key] = tuple(constraint.name for constraint in listed)
        return self._constraints[key]

    def tags(self, table: str) -> tuple[str, ...]:
        """Return the tags of a table; none if the table does not exist."""
        key = plain(table)
        if key not in self._tags:
            self._tags[key] = self._values(f"SHOW TAGS IN {table}", "tag")
        return self._tags[key]

    def _answer(self, statement: str) -> Result | None:
        try:
            return self._ask(statement)
        except (PySparkException, ValueError, RuntimeError):
            # The database or the table may have been dropped. The next statement reports it.
            return None

    def _values(self, statement: str, column: str | None = None) -> tuple[str, ...]:
        result = self._answer(statement)
        if result is None:
            return ()
        position = 0 if column is None else result.columns.index(column)
        return tuple(str(row[position]) for row in result.rows)
