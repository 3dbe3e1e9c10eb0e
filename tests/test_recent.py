"""What was asked for last is kept."""

from __future__ import annotations

import pytest

from acidsql.storage.recent import Recent


def test_a_value_is_made_once_as_long_as_it_is_kept() -> None:
    made: list[str] = []
    kept: Recent[str] = Recent(2)

    def get(key: str) -> str:
        def make() -> str:
            made.append(key)
            return key.upper()

        return kept.get(key, make)

    assert [get(key) for key in "abab"] == ["A", "B", "A", "B"]
    assert made == ["a", "b"]
    get("c")  # the place of the one that was asked for longest ago
    get("b")
    assert made == ["a", "b", "c"]
    get("a")
    assert made == ["a", "b", "c", "a"]


def test_what_cannot_be_made_is_not_kept() -> None:
    kept: Recent[int] = Recent(2)

    def fail() -> int:
        raise ValueError("not now")

    with pytest.raises(ValueError, match="not now"):
        kept.get("a", fail)
    assert kept.get("a", lambda: 1) == 1
