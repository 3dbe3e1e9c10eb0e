"""Actions of tests at the injection points of transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

from acidsql.transactions.injection_points import Point, attached
from acidsql.transactions.transaction import Transaction

# Takes what is to be done.
Plan = Callable[[Callable[[], object]], None]


@contextmanager
def once(point: Point) -> Iterator[Plan]:
    """Yield a function that takes an action for the next transaction that reaches a point.

    An action that has not run by the end of the block fails the test.
    """
    planned: list[Callable[[], object]] = []

    def act(_: Transaction) -> None:
        if planned:
            planned.pop()()

    with attached(point, act):
        yield planned.append
    assert not planned


def failing(point: Point, error: BaseException) -> AbstractContextManager[None]:
    """Let each transaction fail that reaches a point in the block."""

    def fail(_: Transaction) -> NoReturn:
        raise error

    return attached(point, fail)
