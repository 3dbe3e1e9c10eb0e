"""Hints on errors: the name that was probably meant, and where the documentation is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from pyspark.errors import PySparkException

from acidsql.errors import condition_of, condition_page
from acidsql.repl.named_tables import plain
from acidsql.sqlstates import SQLSTATES

_CATALOG = "spark_catalog."


def table_hint(error: Exception, tables: Callable[[str | None], Iterable[str]]) -> str | None:
    """Return what to say of a table that there is not; None if the error is another one, or no name
    is near.

    Args:
        error: of a statement.
        tables: returns the names of a database's tables, or of the current one's.
    """
    if not isinstance(error, PySparkException) or condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    parameters = error.getMessageParameters() or {}
    wanted = plain(str(parameters.get("relationName", ""))).removeprefix(_CATALOG)
    database, dot, name = wanted.rpartition(".")
    found = {table.lower(): table for table in tables(database or None)}
    near = get_close_matches(name, found, n=1)
    return f"hint: is it {database}{dot}{found[near[0]]}?" if near else None


def page_hint(error: Exception) -> str | None:
    """Return where the documentation explains an error; None if it does not.

    Some of the conditions are Spark's, and Spark raises them too.
    """
    condition = condition_of(error) if isinstance(error, PySparkException) else None
    if condition is None or condition.partition(".")[0] not in SQLSTATES:
        return None
    return f"see {condition_page(condition)}"
