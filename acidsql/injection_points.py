"""Injection points: named moments of the engine where tests can run other code.

Tests of races and faults attach actions to the points. Without actions, reaching a point costs one
lookup in an empty dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

# Takes the object that reaches the point: see the members of ``Point``.
Action = Callable[[Any], object]


class Point(Enum):
    """Moment of the engine, and the object that reaches it.

    Members:
        BEFORE_LOCKS: a transaction is open, and requests its locks next (``Transaction``).
        BEFORE_WRITE_IDS: it allocates its write ids next (``Transaction``).
        BEGUN: a statement has its locks, write ids and snapshot, and has read nothing yet
            (``Transaction``).
        BEFORE_MERGING_EVENTS: tasks have staged the row events and key events of a statement, and
            these become bucket files next (``Staging``).
        BEFORE_PUBLISHING: the files of a table are staged, and move to their places next
            (``TableWrite``).
        BEFORE_COMMIT: the files are in their places, and the commit is sent to the metastore next
            (``Transaction``).
        COMPARED: a transaction was compared with those that committed before the commit is sent
            (``Comparison``).
        COMMITTED: the metastore has committed, and its answer has not been processed
            (``Transaction``).
        BEFORE_READING: a query has found its tables, and takes its snapshot next
            (``AcidSession``).
        BEFORE_CREATING: no table has this name, and the table's directory is examined next
            (``Table``).
        BEFORE_COMPACTING: a compaction has its locks, and takes its snapshot next
            (``Compaction``).
        BEFORE_BATCH: a streaming batch has its transaction, and is written next (``Sink``).
        BEFORE_HOLDING: the holding directory of a file operation is created next
            (``FileOperation``).
        BEFORE_ALTERING: a changed table is sent to a Hive Metastore next (``HiveTable``).
    """

    BEFORE_LOCKS = auto()
    BEFORE_WRITE_IDS = auto()
    BEGUN = auto()
    BEFORE_MERGING_EVENTS = auto()
    BEFORE_PUBLISHING = auto()
    BEFORE_COMMIT = auto()
    COMPARED = auto()
    COMMITTED = auto()
    BEFORE_READING = auto()
    BEFORE_CREATING = auto()
    BEFORE_COMPACTING = auto()
    BEFORE_BATCH = auto()
    BEFORE_HOLDING = auto()
    BEFORE_ALTERING = auto()


_actions: dict[Point, list[Action]] = {}


def reach(point: Point, subject: object) -> None:
    """Run the actions of a point."""
    for action in tuple(_actions.get(point, ())):
        action(subject)


@contextmanager
def attached(point: Point, action: Action) -> Iterator[None]:
    """Run an action each time that this process reaches a point in the block."""
    _actions.setdefault(point, []).append(action)
    try:
        yield
    finally:
        _actions[point].remove(action)
