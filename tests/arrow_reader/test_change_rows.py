"""Tests of updates that keys make of what was deleted and inserted."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from acidsql.arrow_reader.change_rows import CHANGE_FIELDS, paired
from acidsql.scan.change_form import ChangeForm

_SCHEMA = pa.schema([pa.field("Id", pa.int32()), pa.field("v", pa.string()), *CHANGE_FIELDS])
_rows = st.tuples(
    st.none() | st.integers(1, 3), st.sampled_from(["insert", "delete"]), st.integers(1, 2)
)


@given(rows=st.lists(_rows, max_size=8), net=st.booleans(), cut=st.integers(0, 8))
def test_updates_are_what_was_deleted_and_inserted_with_one_key(
    rows: list[tuple[int | None, str, int]], net: bool, cut: int
) -> None:
    parts = [
        pa.Table.from_pylist(
            [
                {"Id": key, "v": "x", "_change_type": kind, "_commit_version": version}
                for key, kind, version in own
            ],
            _SCHEMA,
        )
        for own in (rows[:cut], rows[cut:])
    ]
    found = paired(pa.concat_tables(parts), ChangeForm(keys=("id",), net=net), {"id": "Id"})
    known = {(key, kind, 0 if net else version) for key, kind, version in rows}
    expected = []
    for key, kind, version in rows:
        other = "insert" if kind == "delete" else "delete"
        is_update = key is not None and (key, other, 0 if net else version) in known
        name = "update_preimage" if kind == "delete" else "update_postimage"
        expected.append((key, name if is_update else kind, version))
    columns = ("Id", "_change_type", "_commit_version")
    assert list(zip(*(found[c].to_pylist() for c in columns), strict=True)) == expected
    assert found.schema == _SCHEMA
