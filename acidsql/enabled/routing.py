"""Routing of calls: acidsql handles calls of enabled sessions that name metastore tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import find, qualified, temporary_table
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import is_at_work

# Set in the conf of an enabled session. Clones of the session, which run the batches of a stream,
# inherit it; new sessions do not.
SETTING = "acidsql.enabled"


def is_routed(spark: SparkSession) -> bool:
    """Return whether acidsql checks the calls on a session.

    It does if the session is enabled and acidsql itself is not at work.
    """
    return not is_at_work() and spark.conf.get(SETTING, "false") == "true"


def instead_of(original: Any, substitute: Callable[[Any], Any]) -> property:
    """Return a property with ``substitute``'s value, or the original's value if that is None."""

    def value(self: Any) -> Any:
        replacement = substitute(self)
        return original.__get__(self, type(self)) if replacement is None else replacement

    return property(value, doc=original.__doc__)


def name_parts(spark: SparkSession, name: str) -> tuple[str, ...] | None:
    """Return the parts of a name; None if it is malformed, so that Spark raises the error."""
    try:
        return bridge.parse_name(spark, name)
    except ParseException:
        return None


def named(session: AcidSession, name: str) -> Table | None:
    """Find a table or view of the metastore by name; a temporary view hides it."""
    parts = name_parts(session.spark, name)
    return find(session, parts) if parts else None


def named_table(session: AcidSession, name: str) -> Table | None:
    """Find a table or view of the metastore by name; temporary views are ignored."""
    parts = name_parts(session.spark, name)
    if not parts:
        return None
    place = qualified(session, parts)
    table = temporary_table(session, parts)
    return table or (session.metastore.find_table(*place) if place else None)


def written(table: Table | None) -> Table | None:
    """Return the table to write to, and refuse a view.

    Raises:
        AcidAnalysisError: EXPECT_TABLE_NOT_VIEW, the name belongs to a view.
    """
    if table is not None and table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW",
            f"{table.full_name or table.name} is a view: name the table to write to",
        )
    return table
