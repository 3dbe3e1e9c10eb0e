from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.partitions import (
    DEFAULT_PARTITION,
    escape,
    parse_partition_name,
    partition_name,
    unescape,
)

SPECIAL = "\"#%'*/:=?\\{[]^\x7f" + "".join(map(chr, range(1, 32)))
TEXTS = st.text(alphabet=st.characters() | st.sampled_from(SPECIAL), max_size=12)


def test_exactly_hives_characters_are_escaped() -> None:
    assert {chr(code) for code in range(256) if escape(chr(code)) != chr(code)} == set(SPECIAL)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a/b", "a%2Fb"),
        ("50%", "50%25"),
        ("2024-01-01 10:00:00", "2024-01-01 10%3A00%3A00"),
        ("x=y", "x%3Dy"),
        ("\t", "%09"),
        ("}é&;", "}é&;"),
    ],
)
def test_escapes(text: str, escaped: str) -> None:
    assert escape(text) == escaped
    assert unescape(escaped) == text


@given(TEXTS)
def test_round_trip(text: str) -> None:
    escaped = escape(text)
    assert unescape(escaped) == text
    assert not set("/=") & set(escaped)


@pytest.mark.parametrize(
    ("escaped", "text"),
    [("%2f", "/"), ("a%20b%3Cc", "a b<c"), ("100%", "100%"), ("%zz%4", "%zz%4"), ("%+1", "%+1")],
)
def test_escapes_of_other_writers_and_stray_percent_signs(escaped: str, text: str) -> None:
    assert unescape(escaped) == text


def test_partition_name() -> None:
    assert partition_name(["P", "q"], ["1", ""]) == f"p=1/q={DEFAULT_PARTITION}"
    assert partition_name(["a=b"], ["x/y"]) == "a%3Db=x%2Fy"


def test_a_value_for_each_column_is_demanded() -> None:
    with pytest.raises(ValueError, match="zip"):
        partition_name(["p", "q"], ["1"])


@given(st.lists(st.tuples(TEXTS.map(str.lower).filter(bool), TEXTS.filter(bool)), min_size=1))
def test_names_round_trip(pairs: list[tuple[str, str]]) -> None:
    columns, values = [column.lower() for column, _ in pairs], [value for _, value in pairs]
    name = partition_name(columns, values)
    expected = tuple((column.lower(), value) for column, value in zip(columns, values, strict=True))
    assert parse_partition_name(name) == expected


@pytest.mark.parametrize("text", ["", "p", "p=", "=1", "p=1/", "p=1//q=2"])
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_partition_name(text)
    assert error.value.getCondition() == "INVALID_PARTITION_NAME"
