"""Count the different row ids of delete events."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.scan.deletes import count_distinct

_NAMES = ("write_id", "bucket", "row_id", "ordinal")
_Key = tuple[int, int, int, int]


def _table(keys: list[_Key]) -> pa.Table:
    columns = [pa.array([key[i] for key in keys], pa.int64()) for i in range(len(_NAMES))]
    return pa.table(columns, names=_NAMES)


_keys = st.tuples(
    st.integers(1, 3),
    st.sampled_from([536870912, 536936448, 536870913]),
    st.sampled_from([0, 1, 2, 2**39, 2**40 - 1]),
    st.integers(0, 2),
)


@given(st.lists(st.lists(_keys, max_size=8), max_size=4))
def test_repeated_keys_count_once(files: list[list[_Key]]) -> None:
    keys = pa.concat_tables([_table([]), *map(_table, files)])
    assert count_distinct(keys) == len({key for file in files for key in file})


@pytest.mark.parametrize("row_id", [-1, 2**40])
def test_a_key_that_does_not_fit_is_not_counted(row_id: int) -> None:
    assert count_distinct(_table([(1, 536870912, 0, 0), (1, 536870912, row_id, 0)])) is None


def test_more_places_than_fit_are_not_counted() -> None:
    keys = [(i, i, 0, i) for i in range(204)]
    assert count_distinct(_table(keys)) is None
    assert count_distinct(_table(keys[:200])) == 200
