"""Parallel execution of one action on many files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from acidsql.limits import limits

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(
    action: Callable[[T], R], items: Sequence[T], threads: int | None = None
) -> list[R]:
    """Run an action on every item, by default ``Limits.file_threads`` at a time.

    Returns the results in the order of the items.

    Raises:
        Exception: the first failure of an action.
    """
    if len(items) <= 1:
        return [action(item) for item in items]
    with ThreadPoolExecutor(threads or limits().file_threads) as pool:
        return list(pool.map(action, items))
