"""LRU cache bounded by total size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """LRU cache that drops the least recently used values; it is thread-safe.

    Args:
        most: largest total size of the values.
        size: returns the size of a value; by default each value counts 1.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._most = most
        self._size = size
        self._known: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._total = 0
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return the value of a key; if it is not cached, call ``make`` to compute it."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
        made = make()
        size = self._size(made)
        with self._lock:
            _, before = self._known.pop(
                key, (None, 0)
            )  # another thread may have cached it in the meantime
            self._known[key] = made, size
            self._total += size - before
            while self._total > self._most:
                _, (_, freed) = self._known.popitem(last=False)
                self._total -= freed
        return made
