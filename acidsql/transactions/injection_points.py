"""Injection points: named moments of a transaction where tests can run other code.

Tests of races and faults attach actions to the points. Without actions, reaching a point costs one
lookup in an empty dictionary.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from acidsql.transactions.transaction import Transaction

    Action = Callable[[Transaction], object]


class Point(Enum):
    """Moment of a transaction.

    Members:
        BEFORE_LOCKS: the transaction is open, and requests its locks next.
        BEFORE_WRITE_IDS: the transaction allocates its write ids next.
        BEGUN: a statement has its locks, write ids and snapshot, and has read nothing yet.
        BEFORE_COMMIT: the files are in their places, and the commit is sent to the metastore next.
        COMMITTED: the metastore has committed, and its answer has not been processed.
    """

    BEFORE_LOCKS = auto()
    BEFORE_WRITE_IDS = auto()
    BEGUN = auto()
    BEFORE_COMMIT = auto()
    COMMITTED = auto()


_actions: dict[Point, list[Action]] = {}


def reach(point: Point, transaction: Transaction) -> None:
    """Run the actions of a point."""
    for action in tuple(_actions.get(point, ())):
        action(transaction)


@contextmanager
def attached(point: Point, action: Action) -> Iterator[None]:
    """Run an action each time that a transaction of this process reaches a point in the block."""
    _actions.setdefault(point, []).append(action)
    try:
        yield
    finally:
        _actions[point].remove(action)
