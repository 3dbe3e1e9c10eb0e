"""Tests of the proof that a delete event removes a row, without Spark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.scan.dense_rows import Dense, are_of

_places = st.tuples(st.integers(0, 1), st.integers(1, 2), st.integers(0, 1))
_files = st.builds(
    lambda place, least, more: Dense(place, least, least + more),
    _places,
    st.integers(0, 12),
    st.integers(0, 3),
)
_deleted = st.dictionaries(_places, st.tuples(st.integers(0, 15), st.integers(0, 4)), max_size=3)


def _rows(file: Dense) -> list[tuple[tuple[int, int, int], int]]:
    return [(file.place, row) for row in range(file.least, file.greatest + 1)]


@given(files=st.lists(_files, max_size=5), deleted=_deleted)
def test_deleted_rows_are_counted_that_are_each_in_one_file(
    files: list[Dense], deleted: dict[tuple[int, int, int], tuple[int, int]]
) -> None:
    ranges = [Dense(place, least, least + more) for place, (least, more) in deleted.items()]
    rows = [row for file in files for row in _rows(file)]
    unique = len(set(rows)) == len(rows)
    asked = {row for own in ranges for row in _rows(own)}
    assert are_of(ranges, files) == (unique and asked <= set(rows))
