"""Names of tables and columns for completion."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.errors import PySparkException

from acidsql.repl.named_tables import plain
from acidsql.repl.runner import Result


class CatalogNames:
    """Names that are looked up once until a statement runs, which may change them.

    Args:
        ask: runs a statement of Spark's dialect.
    """

    def __init__(self, ask: Callable[[str], Result]) -> None:
        self._ask = ask
        self._tables: tuple[str, ...] | None = None
        self._columns: dict[str, tuple[str, ...]] = {}

    def forget(self) -> None:
        """Look everything up again."""
        self._tables = None
        self._columns = {}

    def tables(self) -> tuple[str, ...]:
        """Return the tables and views of the current database."""
        if self._tables is None:
            self._tables = self._values("SHOW TABLES", "tableName")
        return self._tables

    def columns(self, table: str) -> tuple[str, ...]:
        """Return the columns of a table, which is named as in SQL; none if there is no such one."""
        key = plain(table)
        if key not in self._columns:
            # What has no database may also be a name that the statement itself defines.
            is_there = "." in table or key in {name.lower() for name in self.tables()}
            found = self._values(f"SHOW COLUMNS IN {table}", "col_name") if is_there else ()
            self._columns[key] = found
        return self._columns[key]

    def _values(self, statement: str, column: str) -> tuple[str, ...]:
        try:
            result = self._ask(statement)
        except (PySparkException, ValueError, RuntimeError):
            # The database or the table may be gone; the next statement will report it.
            return ()
        position = result.columns.index(column)
        return tuple(str(row[position]) for row in result.rows)
