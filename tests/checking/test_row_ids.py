"""Tests of the ranges that show which files may have a row id in common."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.checking.row_ids import Box, meeting

_RANGES = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda pair: (min(pair), max(pair)))


@given(st.lists(st.tuples(st.integers(0, 1), _RANGES, _RANGES, _RANGES), max_size=12))
def test_the_pairs_are_those_of_one_place_that_meet(
    drawn: list[tuple[int, tuple[int, int], tuple[int, int], tuple[int, int]]],
) -> None:
    boxes = [Box(place, i, w, b, r, 1) for i, (place, w, b, r) in enumerate(drawn)]
    expected = {
        (one.file, other.file)
        for one, other in combinations(boxes, 2)
        if one.ordinal == other.ordinal and one.meets(other)
    }
    found = meeting(boxes)
    assert {tuple(sorted((one.file, other.file))) for one, other in found} == expected
    assert len(found) == len(expected)


def test_a_dense_file_has_every_row_id_of_its_range() -> None:
    box = Box(0, 0, (3, 3), (7, 7), (10, 19), 10)
    assert box.is_dense
    assert not box._replace(rows=9).is_dense
    assert not box._replace(write_ids=(3, 4)).is_dense
    assert not box._replace(buckets=(7, 8)).is_dense
