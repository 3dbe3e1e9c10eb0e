"""Temporary views over ACID tables.

Spark keeps the plan of a temporary view, which has one snapshot. The text of the view is kept here,
and planned anew by each statement.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession

from acidsql import bridge
from acidsql.format.identifiers import lowered
from acidsql.metastore.model import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class _TempView:
    view: Table
    definition: bridge.JavaObject | None


class TempViews:
    """Temporary views of one Spark session whose text refers to ACID tables."""

    def __init__(self, spark: SparkSession) -> None:
        self._spark = spark
        self._views: dict[str, _TempView] = {}

    def create(self, view: Table, frame: DataFrame, *, replace: bool) -> None:
        """Create a view in Spark with the plan of this moment, and keep its text."""
        if replace:
            frame.createOrReplaceTempView(view.name)
        else:
            frame.createTempView(view.name)
        definition = bridge.temp_view(self._spark, view.name)
        self._views[lowered(view.name)] = _TempView(view=view, definition=definition)

    def find(self, parts: Sequence[str]) -> Table | None:
        """Find a view; None if Spark has another one of that name by now, or none."""
        known = self._views.get(lowered(parts[-1])) if len(parts) == 1 else None
        if known is None or known.definition is None:
            return None
        current = bridge.temp_view(self._spark, parts[0])
        is_current = current is not None and bridge.same(current, known.definition)
        return known.view if is_current else None

    def forget_dropped(self) -> None:
        """Forget the views that Spark has no more."""
        self._views = {n: v for n, v in self._views.items() if self.find([n]) is not None}

    def __len__(self) -> int:
        return len(self._views)
