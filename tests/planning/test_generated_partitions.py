"""What a comparison of a value requires of the result of a function of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.planning.generated_partitions import Order, comparison_of_results, order_of

_DAY = "Cast TIMESTAMP DATE"


@pytest.mark.parametrize(
    ("functions", "order"),
    [
        ([], Order.KEPT),
        ([_DAY], Order.KEPT),
        ([_DAY, "TruncTimestamp"], Order.KEPT),
        (["Year", _DAY], Order.KEPT),
        (["Substring from 1"], Order.KEPT),
        (["Month", _DAY], Order.LOST),
        (["Year", "Month"], Order.LOST),
        (["Substring from 2"], None),
        (["Cast TIMESTAMP BIGINT"], None),
        (["Upper", "Substring from 1"], None),
    ],
)
def test_order_of_functions(functions: list[str], order: Order | None) -> None:
    assert order_of(functions) is order


@pytest.mark.parametrize("order", Order)
@pytest.mark.parametrize("operator", ["=", "<", "<=", ">", ">="])
def test_comparisons_that_are_required(operator: str, order: Order) -> None:
    expected = {"=": "=", "<": "<=", "<=": "<=", ">": ">=", ">=": ">="}[operator]
    is_known = order is Order.KEPT or operator == "="
    assert comparison_of_results(operator, order) == (expected if is_known else None)


@pytest.mark.parametrize("operator", ["<>", "LIKE", ""])
def test_other_comparisons_require_nothing(operator: str) -> None:
    assert comparison_of_results(operator, Order.KEPT) is None


_TIMES = st.integers(0, 10**9).map(
    lambda s: datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=s)
)
_FUNCTIONS: dict[str, Callable[[datetime], Any]] = {
    _DAY: datetime.date,
    "TruncTimestamp": lambda t: t.replace(hour=0, minute=0, second=0),
    "Year": lambda t: t.year,
    "Quarter": lambda t: (t.month + 2) // 3,
    "Month": lambda t: t.month,
    "DayOfMonth": lambda t: t.day,
    "Hour": lambda t: t.hour,
}
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


@given(_TIMES, _TIMES, st.sampled_from(sorted(_FUNCTIONS)), st.sampled_from(sorted(_COMPARE)))
def test_a_value_that_meets_a_comparison_has_such_a_result(
    value: datetime, other: datetime, function: str, operator: str
) -> None:
    order = order_of([function])
    assert order is not None
    required = comparison_of_results(operator, order)
    if required is not None and _COMPARE[operator](value, other):
        make = _FUNCTIONS[function]
        assert _COMPARE[required](make(value), make(other))


def test_prefixes_keep_the_order_of_texts() -> None:
    texts = ["", "a", "ab", "abc", "b", "ä", "z\U0001f600"]
    for one in texts:
        for other in texts:
            if one.encode() <= other.encode():
                assert one[:2].encode() <= other[:2].encode()
