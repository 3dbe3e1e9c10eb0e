"""Caches of objects that Python finds or makes in the JVM; each ends with its session."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar
from weakref import WeakKeyDictionary, ref

Owner = TypeVar("Owner")
Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


@dataclass(slots=True, eq=False)
class JvmCache:
    """Cache of one owner.

    The owner is a Spark session, its Spark context, the gateway to the JVM, or an AcidSession.

    Attributes:
        classes: JVM classes by full name.
        objects: singletons by class name.
        loaders: class loaders of compiled Java sources, by source text.
        results: LRU caches of the functions that are ``cached_per_session``.
        mutex: held while a thread makes an object that must exist only once.
    """

    classes: dict[str, Any] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    loaders: dict[str, Any] = field(default_factory=dict)
    results: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)
    mutex: threading.RLock = field(default_factory=threading.RLock)

    _caches: ClassVar[WeakKeyDictionary[Any, JvmCache]] = WeakKeyDictionary()

    @classmethod
    def of(cls, owner: object) -> JvmCache:
        """Return the cache of an owner, which is empty at first."""
        known = cls._caches.get(owner)
        return cls._caches.setdefault(owner, cls()) if known is None else known

    @classmethod
    def clear(cls, owner: object) -> None:
        """Drop the cache of an owner."""
        cls._caches.pop(owner, None)

    @classmethod
    def has(cls, owner: object) -> bool:
        """Return whether an owner has a cache."""
        return owner in cls._caches


def cached_per_session(
    maxsize: int,
) -> Callable[
    [Callable[Concatenate[Owner, Arguments], Result]],
    Callable[Concatenate[Owner, Arguments], Result],
]:
    """Cache a function's results until the session that is its first argument ends.

    Args:
        maxsize: number of most recently used results that the cache retains for a session.
    """

    def decorate(
        function: Callable[Concatenate[Owner, Arguments], Result],
    ) -> Callable[Concatenate[Owner, Arguments], Result]:
        @wraps(function)
        def remembered(
            owner: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            results = JvmCache.of(owner).results
            known = results.get(function)
            if known is None:
                made = lru_cache(maxsize)(_without_owner(function, owner))
                known = results.setdefault(function, made)  # another thread may have made one
            answer: Result = known(*args, **kwargs)
            return answer

        return remembered

    return decorate


def _without_owner(
    function: Callable[Concatenate[Owner, Arguments], Result], owner: Owner
) -> Callable[Arguments, Result]:
    """Bind the first argument of a function by a weak reference."""
    reference = ref(owner)

    def bound(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        alive = reference()
        assert alive is not None, "the caller has it"
        return function(alive, *args, **kwargs)

    return bound
