"""Hints on errors: the name that was probably meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from difflib import get_close_matches

from pyspark.errors import PySparkException

from acidsql.repl.named_tables import plain

_CATALOG = "spark_catalog."


def table_hint(error: Exception, tables: Callable[[str | None], Iterable[str]]) -> str | None:
    """Return what to say of a table that there is not; None if the error is another one, or no name
    is near.

    Args:
        error: of a statement.
        tables: returns the names of a database's tables, or of the current one's.
    """
    if not isinstance(error, PySparkException) or _condition(error) != "TABLE_OR_VIEW_NOT_FOUND":
        return None
    parameters = error.getMessageParameters() or {}
    wanted = plain(str(parameters.get("relationName", ""))).removeprefix(_CATALOG)
    database, dot, name = wanted.rpartition(".")
    found = {table.lower(): table for table in tables(database or None)}
    near = get_close_matches(name, found, n=1)
    return f"hint: is it {database}{dot}{found[near[0]]}?" if near else None


def _condition(error: PySparkException) -> str | None:
    # PySpark 3.5 knows only the older name.
    getter = getattr(error, "getCondition", None) or error.getErrorClass
    found = getter()
    return None if found is None else str(found)
