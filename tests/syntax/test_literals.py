"""Literals that are written have the value that they are made of."""

from __future__ import annotations

import re
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.syntax.lexer import unquote_string
from acidsql.syntax.literals import (
    has_typed_literal,
    quoted_string,
    string_value,
    typed_literal,
)

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
AWKWARD = st.text(st.sampled_from("'\\${}n\n\r\t\0a\"é😀"))


@given(TEXTS | AWKWARD)
def test_a_quoted_string_is_read_back(text: str) -> None:
    written = quoted_string(text)
    assert unquote_string(written) == text
    assert not re.search(r"\$\{|[\n\r\0]", written)


@given(TEXTS | AWKWARD)
def test_the_value_of_a_string_depends_on_no_setting(text: str) -> None:
    written = string_value(text)
    octets = re.fullmatch(r"CAST\(X'([0-9a-f]*)' AS STRING\)", written)
    if octets:
        assert bytes.fromhex(octets[1]).decode() == text
    else:
        assert written == f"'{text}'"
        assert not re.search(r"['\\\n\r\0]|\$\{", text)


@pytest.mark.parametrize(
    ("value", "data_type", "written"),
    [
        (1, "TINYINT", "1Y"),
        (1, "SMALLINT", "1S"),
        (-1, "INT", "-1"),
        (1, "BIGINT", "1L"),
        (-1, "DATE", "date_from_unix_date(-1)"),
        ("x", "STRING", "'x'"),
        (Decimal("1.5"), "DECIMAL(3,1)", "CAST(1.5 AS DECIMAL(3,1))"),
        (None, "STRING", "CAST(NULL AS STRING)"),
    ],
)
def test_typed_literal(value: object, data_type: str, written: str) -> None:
    assert has_typed_literal(data_type)
    assert typed_literal(value, data_type) == written


@pytest.mark.parametrize("data_type", ["DOUBLE", "TIMESTAMP", "CHAR(3)", "ARRAY<INT>"])
def test_values_of_other_types_have_none(data_type: str) -> None:
    assert not has_typed_literal(data_type)
