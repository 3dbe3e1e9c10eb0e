"""Sets of row ids against Python's sets of tuples."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.storage.delete_files import NO_KEYS, RowId
from acidsql.storage.row_id_sets import RowIdSet

# Few values, so that sets meet; buckets as the codec writes them.
ROW_IDS = st.builds(
    RowId,
    write_id=st.integers(1, 3),
    bucket=st.sampled_from([536870912, 536936448]),
    row_id=st.integers(0, 4),
)


def table(keys: Sequence[RowId]) -> pa.Table:
    return pa.Table.from_pylist([k._asdict() for k in keys], schema=NO_KEYS.schema)


@given(st.lists(st.lists(ROW_IDS)), st.lists(ROW_IDS))
def test_sets_meet_in_the_rows_that_both_have(one: list[list[RowId]], other: list[RowId]) -> None:
    first = RowIdSet.of(map(table, one))
    second = RowIdSet.of([table(other)])
    in_one = {key for keys in one for key in keys}
    both = in_one & set(other)
    assert len(first) == len(in_one)
    assert first.common(second) == second.common(first) == min(both, default=None)


def test_large_and_sparse_row_ids() -> None:
    rows = [RowId(7, 536870912, 2**60 + i) for i in range(0, 10_000, 2)]
    found = RowIdSet.of([table(rows)])
    assert found.common(RowIdSet.of([table([RowId(7, 536870912, 2**60 + 5)])])) is None
    assert found.common(RowIdSet.of([table([rows[-1]])])) == rows[-1]
    assert found.common(RowIdSet.of([NO_KEYS])) is None
