"""Tests of Z-order: ranges of skewed values, and bits."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.zorder import (
    hilbert_place,
    order_text,
    property_columns,
    ranges_of,
    zorder_columns,
)


@given(st.lists(st.text(alphabet="ab`, ()", min_size=1), min_size=1, unique=True))
def test_columns_of_an_order(names: list[str]) -> None:
    assert zorder_columns(order_text(names)) == tuple(names)


def test_other_orders() -> None:
    for text in ("a", "zorder(a)", "zorder(`a`) DESC", "zorder(`a`, b)", "zorder()"):
        assert zorder_columns(text) is None


def test_names_of_the_property() -> None:
    assert property_columns(" a ,b,, C d ") == ("a", "b", "C d")
    assert property_columns("") == ()


@given(st.lists(st.integers(0, 50), min_size=1), st.integers(1, 6))
def test_ranges_divide_a_sample(sample: list[int], bits: int) -> None:
    bounds, ids = ranges_of(sample, bits)
    assert bounds == sorted(set(bounds))
    assert len(ids) == len(bounds) + 1 <= 1 << bits
    assert all(min(sample) < bound <= max(sample) for bound in bounds)
    assert ids == sorted(ids)
    assert all(0 <= each < 1 << bits for each in ids)


def test_a_frequent_value_leaves_ranges_to_the_others() -> None:
    assert ranges_of([*range(8), *[8] * 92], 4) == ([6, 8], [0, 1, 8])
    assert ranges_of([5] * 10, 4) == ([], [8])
    assert ranges_of([], 4) == ([], [0])


@pytest.mark.parametrize(
    ("columns", "bits"),
    [(1, 4), (2, 1), (2, 4), (3, 3), (4, 2), pytest.param(5, 2, marks=pytest.mark.slow)],
)
def test_the_curve_goes_through_all_ids_from_neighbour_to_neighbour(
    columns: int, bits: int
) -> None:
    every = list(product(range(1 << bits), repeat=columns))
    places = {hilbert_place(ids, bits): ids for ids in every}
    assert sorted(places) == list(range(len(every)))
    for place in range(1, len(every)):
        pairs = zip(places[place - 1], places[place], strict=True)
        assert sum(abs(one - other) for one, other in pairs) == 1
