"""Hints on errors: a similar table name, and the address of the documentation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from pyspark.errors import PySparkException

from acidsql.errors import condition_of, condition_page
from acidsql.repl.named_tables import plain
from acidsql.sqlstates import SQLSTATES

_CATALOG = "spark_catalog."


def table_hint(error: Exception, tables: Callable[[str | None], Iterable[str]]) -> str | None:
    """Return a hint with the name of a similar table.

    Return None if the error is not that a table is missing, or if no table has a similar name.

    Args:
        error: error of a statement.
        tables: function that returns the table names of a database; None is the current database.
    """
    if not isinstance(error, PySparkException) or condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    parameters = error.getMessageParameters() or {}
    wanted = plain(str(parameters.get("relationName", ""))).removeprefix(_CATALOG)
    database, dot, name = wanted.rpartition(".")
    spellings = {table.lower(): table for table in tables(database or None)}
    near = get_close_matches(name, spellings, n=1)
    return f"hint: is it {database}{dot}{spellings[near[0]]}?" if near else None


def page_hint(error: Exception) -> str | None:
    """Return the address of the page that explains an error; None if there is none.

    Some conditions belong to Spark, which raises them as well.
    """
    condition = condition_of(error) if isinstance(error, PySparkException) else None
    if condition is None or condition.partition(".")[0] not in SQLSTATES:
        return None
    return f"see {condition_page(condition)}"
