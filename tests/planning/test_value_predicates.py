"""Tests of predicates that a set of values meets."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pyarrow as pa
import pytest

from acidsql.planning.value_predicates import OneOf, one_of, only_one


def chunked(*values: object, kind: pa.DataType | None = None) -> pa.ChunkedArray:
    """Return the values in two chunks."""
    half = len(values) // 2
    return pa.chunked_array([pa.array(values[:half], kind), pa.array(values[half:], kind)])


@pytest.mark.parametrize(
    ("values", "kind", "text"),
    [
        (chunked(3, 1, 3, None, kind=pa.int64()), "BIGINT", "k IN (3L, 1L)"),
        (chunked("a", "it's"), "STRING", "k IN ('a', CAST(X'69742773' AS STRING))"),
        (chunked(date(1970, 1, 2), date(1969, 12, 31)), "DATE",
         "k IN (date_from_unix_date(1), date_from_unix_date(-1))"),
        (chunked(Decimal("1.50"), Decimal("-2.00")), "DECIMAL(4,2)",
         "k IN (CAST(1.50 AS DECIMAL(4,2)), CAST(-2.00 AS DECIMAL(4,2)))"),
        (chunked(None, None, kind=pa.int32()), "INT", "k <> k"),
        (chunked(kind=pa.int32()), "INT", "k <> k"),
    ],
)  # fmt: skip
def test_few_values_are_listed(values: pa.ChunkedArray, kind: str, text: str) -> None:
    assert one_of(values, kind, most=2) == OneOf(text=text)


def test_many_values_are_a_range() -> None:
    values = chunked(7, -1, 5, None, 7, kind=pa.int32())
    assert one_of(values, "INT", most=3).text == "k IN (7, -1, 5)"
    assert one_of(values, "INT", most=2) == OneOf(text="k >= -1 AND k <= 7")


def test_a_date_after_the_last_of_python() -> None:
    values = pa.chunked_array([pa.array([3_000_000], pa.int32()).cast(pa.date32())])
    assert one_of(values, "DATE", most=1).text == "k IN (date_from_unix_date(3000000))"
    assert only_one(values, "DATE") == "date_from_unix_date(3000000)"


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (chunked(5, kind=pa.int32()), "5"),
        (chunked(kind=pa.int32()), "CAST(NULL AS INT)"),
        (chunked(None, kind=pa.int32()), "CAST(NULL AS INT)"),
    ],
)
def test_only_one(values: pa.ChunkedArray, text: str) -> None:
    assert only_one(values, "INT") == text
