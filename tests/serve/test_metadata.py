"""Tests of the patterns of JDBC's metadata calls."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.serve.metadata import name_pattern

_NAMES = st.text(alphabet="ab_%\\.*\n", max_size=6)


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("pet", "pet", True),
        ("PET", "pet", True),
        ("pet", "pets", False),
        ("p%", "pet", True),
        ("p_t", "pet", True),
        ("p_t", "pt", False),
        ("p\\_t", "pet", False),
        ("p\\_t", "p_t", True),
        ("a.c", "abc", False),
        ("%", "", True),
        ("*", "pet", True),
        ("", "pet", True),
        (None, "pet", True),
    ],
)
def test_pattern(pattern: str | None, name: str, matches: bool) -> None:
    assert bool(name_pattern(pattern).fullmatch(name)) is matches


@given(_NAMES.filter(lambda name: name not in ("", "*")))
def test_an_escaped_name_matches_itself_alone(name: str) -> None:
    escaped = "".join(f"\\{c}" if c in "%_\\" else c for c in name)
    assert name_pattern(escaped).fullmatch(name)
    assert not name_pattern(escaped).fullmatch(f"{name}a")


@given(_NAMES, _NAMES)
def test_percent_signs_are_any_text(start: str, rest: str) -> None:
    escaped = "".join(f"\\{c}" if c in "%_\\" else c for c in start)
    assert name_pattern(f"{escaped}%").fullmatch(start + rest)
