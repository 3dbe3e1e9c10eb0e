"""Caches of what is looked up in the JVM, or made there; each ends with its session."""

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
    """Cache of one owner: a Spark session, its Spark context, the gateway to the JVM, or an
    AcidSession.

    Attributes:
        classes: of the JVM, by their full names.
        objects: singletons, by the names of their classes.
        loaders: class loaders of compiled Java sources, by their texts.
        fields: the names of the constructor arguments of a case class, by its full name.
        results: LRU caches of the functions that are ``cached_per_session``.
        mutex: held while an object is made that may exist only once.
    """

    classes: dict[str, Any] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    loaders: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)
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
        maxsize: number of results that are kept for a session, the most recently used ones.
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
    """Bind the first argument of a function without keeping it alive."""
    reference = ref(owner)

    def bound(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        alive = reference()
        assert alive is not None, "the caller has it"
        return function(alive, *args, **kwargs)

    return bound
