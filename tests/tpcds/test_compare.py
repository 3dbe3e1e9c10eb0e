"""Answers are equal by content, within the stated tolerance and no more."""

from __future__ import annotations

from datetime import date
from decimal import Decimal

import pytest

from tpcds_bench.compare import Answer, Row, equal, mismatch


def answer(*rows: Row) -> Answer:
    return Answer(columns=tuple(f"c{index}" for index in range(len(rows[0]))), rows=rows)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (1, Decimal("1.00"), True),
        (1, 2, False),
        (Decimal("0.10"), Decimal("0.1"), True),
        (1.0, 1.0 + 1e-12, True),
        (1.0, 1.0 + 1e-6, False),
        (2 / 3, Decimal("0.666667"), True),
        (2 / 3, Decimal("0.666666"), False),
        (None, None, True),
        (None, 0, False),
        (0, None, False),
        ("", None, False),
        ("1", 1, False),
        ("a", "a ", False),
        (date(2000, 1, 1), date(2000, 1, 1), True),
        (date(2000, 1, 1), "2000-01-01", False),
    ],
)
def test_equality_of_values(a: object, b: object, *, same: bool) -> None:
    assert equal(a, b) is same


def test_row_order_does_not_matter() -> None:
    left = answer(("b", None, 1.0), ("a", 3, 2.0), (None, Decimal("2.5"), None))
    right = answer((None, 2.5, None), ("b", None, 1.0), ("a", 3, 2.0))
    assert mismatch(left, right) is None


def test_last_digits_do_not_reorder_rows() -> None:
    left = answer((1.0 + 1e-13, "x"), (1.0, "y"))
    right = answer((1.0, "x"), (1.0 + 1e-13, "y"))
    assert mismatch(left, right) is None


def test_a_repeated_row_is_not_two_rows() -> None:
    assert mismatch(answer((1,), (1,), (2,)), answer((1,), (2,), (2,))) is not None


def test_a_missing_row_is_told() -> None:
    assert mismatch(answer((1,), (2,)), answer((1,))) == "2 rows expected, 1 found"


def test_a_missing_column_is_told() -> None:
    assert mismatch(answer((1, 2)), answer((1,))) == "2 columns expected, 1 found"


def test_a_wrong_value_is_told_with_its_column() -> None:
    found = mismatch(answer(("a", 1), ("b", 2)), answer(("b", 3), ("a", 1)))
    assert found == "column 'c1': 2 expected, 3 found, in row ('b', 3)"
