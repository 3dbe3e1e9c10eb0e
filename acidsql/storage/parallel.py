"""Parallel execution of one action on many files."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from acidsql.limits import limits

T = TypeVar("T")
R = TypeVar("R")
# Seconds to start threads, or to look up a few hundred cached values.
_START = 0.002


def in_parallel(
    action: Callable[[T], R],
    items: Sequence[T],
    threads: int | None = None,
    *,
    mostly_cached: bool = False,
) -> list[R]:
    """Run an action on every item in parallel, by default with ``Limits.file_threads`` threads.

    The calling thread runs the actions for which Python starts no thread.

    Args:
        action: the action.
        items: the items.
        threads: largest number of threads.
        mostly_cached: whether the action usually finds its data in a cache. It then runs on one
            item after the other while this takes less time than starting threads.

    Returns:
        The results in the order of the items.

    Raises:
        Exception: the first failure of an action.
    """
    if len(items) <= 1:
        return [action(item) for item in items]
    if mostly_cached:
        end = time.perf_counter() + _START
        results = []
        for item in items:
            results.append(action(item))
            if time.perf_counter() > end:
                break
        return results + in_parallel(action, items[len(results) :], threads)
    with ThreadPoolExecutor(threads or limits().file_threads) as pool:
        futures: list[Future[R]] = []
        for item in items:
            try:
                futures.append(pool.submit(action, item))
            # Python is exiting and starts no threads, as at the end of a session without stop(), or
            # the machine has no thread left.
            except RuntimeError:
                break
        try:
            results = [future.result() for future in futures]
            return results + [action(item) for item in items[len(futures) :]]
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
