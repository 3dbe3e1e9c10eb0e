"""Relations that CACHE TABLE keeps: for each table or view, the plan of the snapshot that was read
last, which Spark's cache manager knows.

A statement that sees the same snapshot reads that plan. For a statement that sees another snapshot,
the relation is planned and cached again: what is read is always current.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from acidsql import bridge

Place = tuple[str, str]
"""Database and name of a table or view; the database of a temporary view is empty."""


@dataclass(slots=True)
class _Cached:
    """Relation that is cached.

    Attributes:
        level: where Spark keeps its rows; None for Spark's default.
        key: equal for two snapshots only if they have the same rows; None before the first one.
        frame: of the snapshot that was read last.
        expires: seconds since 1970 after which the frame refuses to be computed again.
    """

    level: StorageLevel | None
    key: object = None
    frame: DataFrame | None = None
    expires: float = 0


class CachedRelations:
    """Cached relations of a session.

    Args:
        max_age: seconds for which a plan may be computed again.
    """

    def __init__(self, max_age: float) -> None:
        self._max_age = max_age
        self._cached: dict[Place, _Cached] = {}

    def __contains__(self, place: Place) -> bool:
        """Return whether a table or view is cached."""
        return place in self._cached

    def add(self, place: Place, level: StorageLevel | None) -> None:
        """Cache a table or view from its next reading on; one that is cached already stays."""
        self._cached.setdefault(place, _Cached(level))

    def remove(self, place: Place) -> bool:
        """Give up the rows of a table or view; return whether it was cached."""
        cached = self._cached.pop(place, None)
        if cached is not None and cached.frame is not None:
            cached.frame.unpersist()
        return cached is not None

    def clear(self) -> None:
        """Give up the rows of all tables and views."""
        for place in tuple(self._cached):
            self.remove(place)

    def plan(
        self, place: Place, key: object, build: Callable[[], DataFrame]
    ) -> bridge.UnresolvedPlan:
        """Return the plan of a cached relation.

        Args:
            place: of the relation.
            key: of its snapshot.
            build: plans it for this snapshot.
        """
        cached = self._cached[place]
        if cached.frame is None or cached.key != key or time.time() > cached.expires:
            if cached.frame is not None:
                cached.frame.unpersist()
            frame = build()
            cached.frame = frame.cache() if cached.level is None else frame.persist(cached.level)
            cached.key, cached.expires = key, time.time() + self._max_age / 2
        return bridge.UnresolvedPlan.of(cached.frame)
