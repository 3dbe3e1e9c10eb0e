"""Tests of row indexes, against those that pyorc wrote, and of the share of groups that is read."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

import pyorc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.orc_row_index import (
    ROW_INDEX,
    GroupBounds,
    parse_row_index,
    point_read_share,
)
from acidsql.format.orc_stripe_footer import parse_stripe_footer
from acidsql.format.orc_tail import parse_tail


def groups(kind: str, values: list[Any]) -> list[GroupBounds]:
    """Return the row groups of a column that pyorc writes, of 1,000 rows each."""
    buffer = io.BytesIO()
    with pyorc.Writer(buffer, f"struct<c:{kind}>", row_index_stride=1000) as writer:
        writer.writerows((value,) for value in values)
    content = buffer.getvalue()
    tail = parse_tail(content, len(content))
    (stripe,) = tail.stripes
    start = stripe.offset + stripe.index_length + stripe.data_length
    footer = parse_stripe_footer(content[start : start + stripe.footer_length], tail, 0)
    index = footer.stream(1, ROW_INDEX)
    assert index is not None
    return parse_row_index(content[index.offset : index.offset + index.length], tail)


@pytest.mark.parametrize(
    ("kind", "values", "expected"),
    [
        ("int", range(-1000, 1000), [(1000, -1000, -1), (1000, 0, 999)]),
        ("double", [i / 2 for i in range(1500)], [(1000, 0.0, 499.5), (500, 500.0, 749.5)]),
        ("string", ["a"] * 1000 + ["b", None], [(1000, b"a", b"a"), (1, b"b", b"b")]),
        ("decimal(9,2)", [Decimal("1.50")] * 1000, [(1000, Decimal("1.5"), Decimal("1.5"))]),
        ("int", [None] * 1000 + [7], [(0, None, None), (1, 7, 7)]),
    ],
)
def test_bounds_of_row_groups(kind: str, values: Any, expected: list[tuple[Any, ...]]) -> None:
    assert [tuple(group) for group in groups(kind, list(values))] == expected


def test_groups_without_bounds_are_always_read() -> None:
    unknown = GroupBounds(5, None, None)
    assert point_read_share([unknown, unknown]) == 1.0
    assert point_read_share([unknown, GroupBounds(5, 1, 2)]) == 1.0
    assert point_read_share([]) is None


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1))
def test_the_share_is_the_mean_over_the_values(pairs: list[tuple[int, int]]) -> None:
    found = [GroupBounds(1, min(pair), max(pair)) for pair in pairs]
    means = []
    for group in found:
        points = range(group.lowest, group.highest + 1)
        counts = [sum(g.lowest <= point <= g.highest for g in found) for point in points]
        means.append(sum(counts) / len(counts))
    assert point_read_share(found) == pytest.approx(sum(means) / len(means) / len(found))


def test_shares_of_texts_and_decimals() -> None:
    texts = [GroupBounds(9, b"t%03d" % low, b"t%03d" % (low + 99)) for low in range(0, 1000, 100)]
    share = point_read_share(texts)
    assert share is not None
    assert 0.1 <= share < 0.11
    same = [GroupBounds(9, b"often", b"often")] * 4
    assert point_read_share([*same, GroupBounds(9, b"x", b"z")]) == (4 * 4 + 1) / 5 / 5
    halves = [GroupBounds(1, Decimal(0), Decimal(1)), GroupBounds(1, Decimal(1), Decimal(2))]
    assert point_read_share(halves) == 0.5
    endless = GroupBounds(1, float("-inf"), 0.0)
    assert point_read_share([endless, GroupBounds(1, 1.0, 2.0)]) == 1.0
