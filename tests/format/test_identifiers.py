"""Tests of names in lower case, and of names that Spark takes for the same."""

from __future__ import annotations

import pytest

from acidsql.format.identifiers import folded, lowered
from acidsql.format.partitions import partition_name


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Name", "nAME"),
        ("Größe", "GRÖßE"),
        ("İd", "id"),
        ("İd", "\N{LATIN SMALL LETTER DOTLESS I}D"),
        ("ΣΑΣ", "σας"),
        ("\N{LATIN SMALL LETTER LONG S}", "S"),
        ("\N{KELVIN SIGN}", "k"),
        ("ᾳ", "ᾼ"),
        ("\N{DESERET CAPITAL LETTER BEE}", "\N{DESERET SMALL LETTER BEE}"),
    ],
)
def test_names_that_java_takes_for_equal_but_for_case(one: str, other: str) -> None:
    assert folded(one) == folded(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("Straße", "STRASSE"), ("İ", "i̇"), ("ǰ", "J̌"), ("ﬁ", "FI"), ("a b", "a_b")],
)
def test_names_that_java_takes_for_different(one: str, other: str) -> None:
    assert folded(one) != folded(other)


@pytest.mark.parametrize("name", ["İd", "İİ", "Name", "ΣΑΣ", "Straße", "ŉ", ""])
def test_what_is_compared_stays_as_it_is(name: str) -> None:
    assert folded(folded(name)) == folded(name)
    assert lowered(lowered(name)) == lowered(name)


def test_lower_case_is_java_s() -> None:
    assert [lowered(name) for name in ("İd", "ΣΑΣ", "Größe", "ẞ")] == ["i̇d", "σας", "größe", "ß"]


def test_directories_of_partitions_have_lower_case() -> None:
    assert partition_name(["Day", "İd"], ["Monday", "X"]) == "day=Monday/i̇d=X"
