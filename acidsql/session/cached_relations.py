"""Relations of CACHE TABLE: for each table or view, the cached plan of the last snapshot.

A statement that sees the same snapshot reads this plan. If a statement sees another snapshot,
acidsql plans and caches the relation again, so a statement never reads stale rows.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from acidsql import bridge

RelationName = tuple[str, str]
"""Database and name of a table or view; the database of a temporary view is empty."""


@dataclass(slots=True)
class _Cached:
    """Cached relation.

    Attributes:
        level: storage level of its rows; None for Spark's default.
        key: key of the snapshot, which is equal only for snapshots with the same rows; None before
            the first snapshot.
        frame: DataFrame of the snapshot that was read last.
        expires: time in seconds since 1970 after which the frame is no longer used.
    """

    level: StorageLevel | None
    key: object = None
    frame: DataFrame | None = None
    expires: float = 0


class CachedRelations:
    """Cached relations of a session.

    Args:
        max_age: seconds during which Spark can compute a plan again.
    """

    def __init__(self, max_age: float) -> None:
        self._max_age = max_age
        self._cached: dict[RelationName, _Cached] = {}

    def __contains__(self, place: RelationName) -> bool:
        """Return whether a table or view is cached."""
        return place in self._cached

    def add(self, place: RelationName, level: StorageLevel | None) -> None:
        """Cache a table or view from its next read on, unless it is already cached."""
        self._cached.setdefault(place, _Cached(level))

    def remove(self, place: RelationName) -> bool:
        """Remove a table or view from the cache; return whether it was cached."""
        cached = self._cached.pop(place, None)
        if cached is not None and cached.frame is not None:
            cached.frame.unpersist()
        return cached is not None

    def clear(self) -> None:
        """Remove all tables and views from the cache."""
        for place in tuple(self._cached):
            self.remove(place)

    def plan(
        self, place: RelationName, key: object, build: Callable[[], DataFrame]
    ) -> bridge.UnresolvedPlan:
        """Return the plan of a cached relation.

        Args:
            place: name of the relation.
            key: key of its snapshot.
            build: builds the DataFrame for this snapshot.
        """
        cached = self._cached[place]
        if cached.frame is None or cached.key != key or time.time() > cached.expires:
            if cached.frame is not None:
                cached.frame.unpersist()
            frame = build()
            cached.frame = frame.cache() if cached.level is None else frame.persist(cached.level)
            cached.key, cached.expires = key, time.time() + self._max_age / 2
        return bridge.UnresolvedPlan.of(cached.frame)
