"""The values that were asked for last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class LruCache(Generic[T]):
    """Values by what they are made of; those that were asked for last are kept.

    Args:
        most: how many, or how much of what ``size`` says of each.
    """

    def __init__(self, most: int, size: Callable[[T], int] = lambda _: 1) -> None:
        self._most = most
        self._size = size
        self._known: OrderedDict[Hashable, tuple[T, int]] = OrderedDict()
        self._total = 0
        self._lock = Lock()

    def get(self, key: Hashable, make: Callable[[], T]) -> T:
        """The value of a key; ``make`` is called for it if it is not kept."""
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return self._known[key][0]
        made = make()
        size = self._size(made)
        with self._lock:
            _, before = self._known.pop(key, (None, 0))  # another thread's, meanwhile
            self._known[key] = made, size
            self._total += size - before
            while self._total > self._most:
                _, (_, freed) = self._known.popitem(last=False)
                self._total -= freed
        return made
