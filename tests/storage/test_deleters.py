"""Tests of who deleted rows."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.storage.delete_files import NO_EVENTS
from acidsql.storage.deleters import NOBODY, Deleters

_keys = st.tuples(st.integers(1, 2), st.integers(0, 1), st.integers(0, 6))
_events = st.lists(st.tuples(_keys, st.integers(1, 4)), max_size=8)


@given(files=st.lists(_events, max_size=3), asked=st.lists(_keys, max_size=6))
def test_the_first_who_deleted_a_row_is_found(
    files: list[list[tuple[tuple[int, int, int], int]]], asked: list[tuple[int, int, int]]
) -> None:
    known: dict[tuple[int, int, int], int] = {}
    for key, by in (event for file in files for event in file):
        known[key] = min(by, known.get(key, by))
    tables = [
        pa.Table.from_pylist(
            [
                dict(zip(NO_EVENTS.schema.names, (*key, by), strict=True))
                for key, by in sorted(file)
            ],
            NO_EVENTS.schema,
        )
        for file in files
    ]
    columns = np.array(asked, np.int64).reshape(-1, 3)
    found = Deleters.of(tables).find(*columns.T)
    assert found.tolist() == [known.get(key, NOBODY) for key in asked]
