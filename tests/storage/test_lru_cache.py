"""Tests that the least recently used values are dropped."""

from __future__ import annotations

import pytest

from acidsql.storage.lru_cache import LruCache


def test_a_value_is_made_once_as_long_as_it_is_kept() -> None:
    made: list[str] = []
    kept: LruCache[str] = LruCache(2)

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return kept.get(key, make)

    assert [get(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    get("c")  # the place of the one that was requested longest ago
    get("b")
    assert made == ["a", "b", "c"]
    get("a")
    assert made == ["a", "b", "c", "a"]


def test_what_cannot_be_made_is_not_kept() -> None:
    kept: LruCache[int] = LruCache(2)

    def fail() -> int:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        kept.get("a", fail)
    assert kept.get("a", lambda: 1) == 1


def test_the_sizes_of_what_is_kept_are_added_up() -> None:
    asked: list[str] = []

    def size(value: str) -> int:
        asked.append(value)
        return len(value)

    kept: LruCache[str] = LruCache(6, size)

    def is_kept(value: str) -> bool:
        made: list[str] = []

        def make() -> str:
            made.append(value)
            return value

        kept.get(value, make)
        return not made

    values = ["aaa", "bbb", "cc", "d"]
    assert [is_kept(value) for value in values] == [False] * 4
    assert asked == values  # once each, however many are kept
    assert [is_kept(value) for value in ("bbb", "cc", "d")] == [True] * 3
    assert not is_kept("aaa")
    assert [is_kept(value) for value in ("aaa", "d", "cc")] == [True] * 3
    assert not is_kept("too long")  # nor does it stay
    assert [is_kept(value) for value in ("too long", "aaa")] == [False] * 2


def test_a_value_that_two_threads_made_is_kept_once() -> None:
    kept: LruCache[str] = LruCache(4, len)

    def make() -> str:
        kept.get("a", lambda: "other")  # a fifth character would not do
        return "aaaa"

    assert kept.get("a", make) == "aaaa"
    assert kept.get("a", lambda: "made again") == "aaaa"
