"""Functions and properties that only one thread computes, while other threads wait for it.

The caches of ``functools`` let several threads compute the same value; since Python 3.12 this also
applies to cached properties. At best this doubles the work. At worst a library that is not
thread-safe raises an error.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import wraps
from typing import Any, Generic, TypeVar, overload

Owner = TypeVar("Owner")
Made = TypeVar("Made")


def once(function: Callable[..., Made]) -> Callable[..., Made]:
    """Call a function only once for each tuple of arguments, in one thread at a time.

    >>> calls = []
    >>> @once
    ... def made(name):
    ...     calls.append(name)
    >>> made("a"), made("a"), calls
    (None, None, ['a'])
    """
    lock = threading.RLock()
    made: dict[tuple[Any, ...], Made] = {}

    @wraps(function)
    def made_once(*arguments: Any) -> Made:
        if arguments not in made:
            with lock:
                if arguments not in made:
                    made[arguments] = function(*arguments)
        return made[arguments]

    return made_once


class once_property(Generic[Owner, Made]):  # noqa: N801 - used like functools.cached_property
    """Property of an object that is computed once, in one thread.

    >>> class Circle:
    ...     @once_property
    ...     def area(self):
    ...         print("computed")
    ...         return 3
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    6
    """

    def __init__(self, function: Callable[[Owner], Made]) -> None:
        self._function = function
        self._name = function.__name__
        self.__doc__ = function.__doc__

    @overload
    def __get__(self, owner: None, kind: type[Owner]) -> once_property[Owner, Made]: ...

    @overload
    def __get__(self, owner: Owner, kind: type[Owner]) -> Made: ...

    def __get__(self, owner: Owner | None, kind: type[Owner]) -> once_property[Owner, Made] | Made:
        if owner is None:
            return self
        known = vars(owner)
        lock: threading.RLock = known.setdefault("_once_lock", threading.RLock())
        with lock:
            if self._name not in known:
                known[self._name] = self._function(owner)
        made: Made = known[self._name]  # from now on, the attribute has this value
        return made
