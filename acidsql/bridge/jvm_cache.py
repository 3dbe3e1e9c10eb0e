"""What is looked up in the JVM, or made there, once; it ends with the session that it is of."""

from __future__ import annotations

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
    """What was looked up for one owner: a Spark session, its Spark context or its AcidSession.

    Attributes:
        classes: of the JVM, by their full names.
        objects: singletons of Scala, by the full names of their classes.
        fields: the names of the constructor arguments of a case class, by its full name.
        results: of functions that are ``cached_per_session``.
    """

    classes: dict[str, Any] = field(default_factory=dict)
    objects: dict[str, Any] = field(default_factory=dict)
    fields: dict[str, list[str]] = field(default_factory=dict)
    results: dict[Callable[..., Any], Callable[..., Any]] = field(default_factory=dict)

    _caches: ClassVar[WeakKeyDictionary[Any, JvmCache]] = WeakKeyDictionary()

    @classmethod
    def of(cls, owner: object) -> JvmCache:
        """Return the cache of an owner, which is empty at first."""
        known = cls._caches.get(owner)
        return cls._caches.setdefault(owner, cls()) if known is None else known

    @classmethod
    def clear(cls, owner: object) -> None:
        """Forget what was looked up for an owner."""
        cls._caches.pop(owner, None)

    @classmethod
    def has(cls, owner: object) -> bool:
        """Whether anything was looked up for an owner."""
        return owner in cls._caches


def cached_per_session(
    maxsize: int,
) -> Callable[
    [Callable[Concatenate[Owner, Arguments], Result]],
    Callable[Concatenate[Owner, Arguments], Result],
]:
    """Remember a function's results until the session ends that is its first argument.

    Args:
        maxsize: so many results are kept for a session, those that were used last.
    """

    def decorate(
        function: Callable[Concatenate[Owner, Arguments], Result],
    ) -> Callable[Concatenate[Owner, Arguments], Result]:
        @wraps(function)
        def remembered(
            owner: Owner, /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Result:
            results = JvmCache.of(owner).results
            if function not in results:
                results[function] = lru_cache(maxsize)(_without_owner(function, owner))
            answer: Result = results[function](*args, **kwargs)
            return answer

        return remembered

    return decorate


def _without_owner(
    function: Callable[Concatenate[Owner, Arguments], Result], owner: Owner
) -> Callable[Arguments, Result]:
    """A function of the other arguments; it does not keep the owner alive."""
    reference = ref(owner)

    def bound(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        alive = reference()
        assert alive is not None, "whoever calls has it"
        return function(alive, *args, **kwargs)

    return bound
