"""What is cached for a session ends with it."""

from __future__ import annotations

import gc
import weakref

from acidsql.bridge.jvm_cache import JvmCache, cached_per_session


class Session:
    """Something that a cache can be of."""


calls: list[int] = []


@cached_per_session(2)
def doubled(_: Session, number: int) -> int:
    """Twice a number; says when it is really computed."""
    calls.append(number)
    return 2 * number


def computed(session: Session, *numbers: int) -> list[int]:
    """The numbers that were not known."""
    calls.clear()
    assert [doubled(session, n) for n in numbers] == [2 * n for n in numbers]
    return list(calls)


def test_a_result_is_computed_once_per_session() -> None:
    one, other = Session(), Session()
    assert computed(one, 1, 1, 2) == [1, 2]
    assert computed(other, 1) == [1]
    assert computed(one, 1, 2) == []


def test_results_that_were_used_last_are_kept() -> None:
    session = Session()
    assert computed(session, 1, 2, 1, 3, 1, 2) == [1, 2, 3, 2]


def test_clearing_concerns_one_session() -> None:
    one, other = Session(), Session()
    computed(one, 1)
    computed(other, 1)
    JvmCache.clear(one)
    assert (JvmCache.has(one), JvmCache.has(other)) == (False, True)
    assert computed(other, 1) == []
    assert computed(one, 1) == [1]
    JvmCache.clear(one)
    JvmCache.clear(one)


def test_a_cache_does_not_keep_its_session() -> None:
    session = Session()
    computed(session, 1)
    kept = weakref.ref(session)
    del session
    gc.collect()
    assert kept() is None
