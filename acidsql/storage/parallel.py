"""Doing one thing to many files, a few at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

# Appending to a file takes up to half a second on HDFS, reading its tail some milliseconds.
_THREADS = 8

T = TypeVar("T")
R = TypeVar("R")


def in_parallel(action: Callable[[T], R], items: Sequence[T], threads: int = _THREADS) -> list[R]:
    """Run an action on every item, a few at a time; the first failure is raised."""
    if len(items) <= 1:
        return [action(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(action, items))
