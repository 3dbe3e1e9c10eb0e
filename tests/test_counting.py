"""Which delete events are proved to take a row away, without Spark."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from acidsql.scan.counting import Dense, are_of
from acidsql.storage.delete_files import RowId

_places = st.tuples(st.integers(0, 1), st.integers(1, 2), st.integers(0, 1))
_files = st.builds(
    lambda place, least, more: Dense(place, least, least + more),
    _places,
    st.integers(0, 12),
    st.integers(0, 3),
)
_keys = st.sets(st.tuples(_places, st.integers(0, 15)), max_size=6)


def _rows(file: Dense) -> list[tuple[tuple[int, int, int], int]]:
    return [(file.place, row) for row in range(file.least, file.greatest + 1)]


@given(files=st.lists(_files, max_size=5), keys=_keys)
def test_keys_are_counted_that_are_each_of_one_row(
    files: list[Dense], keys: set[tuple[tuple[int, int, int], int]]
) -> None:
    rows = [row for file in files for row in _rows(file)]
    of_partitions = [(p, RowId(w, b, row)) for (p, w, b), row in keys]
    unique = len(set(rows)) == len(rows)
    assert are_of(of_partitions, files) == (unique and keys <= set(rows))
