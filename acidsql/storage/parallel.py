"""Parallel execution of one action on many files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from acidsql.limits import limits

T = TypeVar("T")
R = TypeVar("R")
# Seconds that starting threads takes, or a look at a few hundred cached values.
_START = 0.002


def in_parallel(
    action: Callable[[T], R],
    items: Sequence[T],
    threads: int | None = None,
    *,
    mostly_cached: bool = False,
) -> list[R]:
    """Run an action on every item, by default ``Limits.file_threads`` at a time.

    Args:
        action: the action.
        items: the items.
        threads: most that run at once.
        mostly_cached: whether the action finds what it needs in a cache as a rule. Then it runs on
            one item after the other for as long as that takes less time than starting threads.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: the first failure of an action.
    """
    if len(items) <= 1:
        return [action(item) for item in items]
    if mostly_cached:
        end = time.perf_counter() + _START
        found = []
        for item in items:
            found.append(action(item))
            if time.perf_counter() > end:
                break
        return found + in_parallel(action, items[len(found) :], threads)
    with ThreadPoolExecutor(threads or limits().file_threads) as pool:
        return list(pool.map(action, items))
