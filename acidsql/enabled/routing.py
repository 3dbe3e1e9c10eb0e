"""Which calls are acidsql's: those of enabled sessions that name what the metastore has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.errors import ParseException
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table, TableType
from acidsql.planning.name_resolution import find, qualified
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import is_at_work

# Set in the conf of a session that is enabled: its clones, in which Spark runs the batches of a
# stream, inherit it, and new sessions do not.
SETTING = "acidsql.enabled"


def is_routed(spark: SparkSession) -> bool:
    """Whether calls on a session are acidsql's to look at."""
    return not is_at_work() and spark.conf.get(SETTING, "false") == "true"


def instead_of(original: Any, own: Callable[[Any], Any]) -> property:
    """A property whose value is that of ``own``, or the original's where that is None."""

    def value(self: Any) -> Any:
        found = own(self)
        return original.__get__(self, type(self)) if found is None else found

    return property(value, doc=original.__doc__)


def name_parts(spark: SparkSession, name: str) -> tuple[str, ...] | None:
    """The parts of a name; None if Spark is to say what is wrong with it."""
    try:
        return bridge.parse_name(spark, name)
    except ParseException:
        return None


def named(session: AcidSession, name: str) -> Table | None:
    """The table or view of the metastore that a name means where temporary views come first."""
    parts = name_parts(session.spark, name)
    return find(session, parts) if parts else None


def named_table(session: AcidSession, name: str) -> Table | None:
    """The table or view of the metastore that a name means where temporary views do not count."""
    parts = name_parts(session.spark, name)
    place = qualified(session, parts) if parts else None
    return session.metastore.find_table(*place) if place else None


def written(table: Table | None) -> Table | None:
    """A table that is about to be written.

    Raises:
        AcidAnalysisError: it is a view (EXPECT_TABLE_NOT_VIEW).
    """
    if table is not None and table.table_type is TableType.VIEW:
        raise AcidAnalysisError(
            "EXPECT_TABLE_NOT_VIEW",
            f"{table.full_name or table.name} is a view: name the table to write to",
        )
    return table
