"""Actions of tests at injection points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import NoReturn

from acidsql.injection_points import Point, attached

# Takes what is to be done.
Plan = Callable[[Callable[[], object]], None]


@contextmanager
def once(point: Point) -> Iterator[Plan]:
    """Yield a function that takes an action for the next time that a point is reached.

    An action that has not run by the end of the block fails the test.
    """
    planned: list[Callable[[], object]] = []

    def act(_: object) -> None:
        if planned:
            planned.pop()()

    with attached(point, act):
        yield planned.append
    assert not planned


def failing(point: Point, error: BaseException) -> AbstractContextManager[None]:
    """Raise an error whenever a point is reached in the block."""

    def fail(_: object) -> NoReturn:
        raise error

    return attached(point, fail)
