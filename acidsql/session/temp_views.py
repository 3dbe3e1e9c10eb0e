"""Temporary views over ACID tables, of a session or of the application, and temporary tables.

Spark keeps the plan of a temporary view, which has a fixed snapshot. acidsql keeps the text of the
view instead, and plans it again for each statement. A temporary table is a view in Spark and a
table in the metastore.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from pyspark import SparkContext
from pyspark.sql import DataFrame, SparkSession

from acidsql import bridge
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _TempView:
    view: Table
    definition: bridge.JavaObject | None


# Views of an application, which all its sessions see.
_GLOBAL: WeakKeyDictionary[SparkContext, dict[str, _TempView]] = WeakKeyDictionary()


class TempViews:
    """Temporary views of one Spark session and of its application that refer to ACID tables.

    Attributes:
        tables: temporary tables of the session that were not dropped, by their full names.
        drop_tables: drops these tables at the end of the session; None before the first table.
    """

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self.tables: dict[str, Table] = {}
        self.drop_tables: Callable[[], None] | None = None
        self._views: dict[str, _TempView] = {}
        self._global = _GLOBAL.setdefault(spark.sparkContext, {})

    def create(self, view: Table, frame: DataFrame, *, replace: bool) -> None:
        """Create a view in Spark with the current plan, and keep its text."""
        if replace:
            frame.createOrReplaceTempView(view.name)
        else:
            frame.createTempView(view.name)
        self._keep(view.name, view)

    def create_table(self, name: str, table: Table, frame: DataFrame) -> None:
        """Create or replace the view of a temporary table.

        Args:
            name: the user's name of the table.
            table: the table of the metastore.
            frame: content of the view in Spark.
        """
        frame.createOrReplaceTempView(name)
        self.tables[table.full_name] = table
        self._keep(name, table)

    def drop_table(self, table: Table) -> None:
        """Drop the view of a table that was dropped, if it was a temporary table."""
        if self.tables.pop(table.full_name, None) is None:
            return
        for name, known in list(self._views.items()):
            if known.view.full_name == table.full_name:
                if self.find([name]) is not None:
                    self._spark.catalog.dropTempView(name)
                del self._views[name]

    def _keep(self, name: str, view: Table) -> None:
        definition = bridge.temp_view(self._spark, [name])
        self._views[lowered(name)] = _TempView(view=view, definition=definition)

    def create_global(self, view: Table, frame: DataFrame, *, replace: bool) -> None:
        """Create a view of the application in Spark, and keep its text.

        The view is in Spark's database of global temporary views.
        """
        if replace:
            frame.createOrReplaceGlobalTempView(view.name)
        else:
            frame.createGlobalTempView(view.name)
        definition = bridge.temp_view(self._spark, [view.database, view.name])
        self._global[lowered(view.name)] = _TempView(view=view, definition=definition)

    def find(self, parts: Sequence[str]) -> Table | None:
        """Find a view or the table of a temporary table.

        The result is None if Spark no longer has the view, or has another view of the name.

        Args:
            parts: parts of the name; for a view of the application, the first part is the database
                of global temporary views.
        """
        views = self._views if len(parts) == 1 else self._global
        known = views.get(lowered(parts[-1]))
        if known is None or known.definition is None:
            return None
        current = bridge.temp_view(self._spark, parts)
        is_current = current is not None and bridge.same(current, known.definition)
        return known.view if is_current else None

    def forget_dropped(self) -> None:
        """Forget the views of the session that Spark no longer has."""
        self._views = {n: v for n, v in self._views.items() if self.find([n]) is not None}

    def __len__(self) -> int:
        """Return the number of the views of the session."""
        return len(self._views)
