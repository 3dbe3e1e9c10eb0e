"""Tests of the delete bitmap, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.bridge import DeleteBitmap
from acidsql.format.bucket_codec import encode
from acidsql.limits import limits
from acidsql.scan.deletes.bitmap import make_delete_bitmap, number_of_deleted_rows
from acidsql.storage.delete_files import NO_KEYS, RowId
from tests.limits import set_limits

Deleted = tuple[int, RowId]

_few = st.builds(
    RowId,
    st.integers(0, 40),
    st.builds(encode, st.integers(0, 5), st.integers(0, 3)),
    st.integers(0, 300),
)
_any = st.builds(RowId, st.integers(0, 2**31 - 1), st.integers(0, 2**31 - 1), st.integers(0, 2**37))
_rows = st.tuples(st.integers(0, 3), _few | _any)


def table(rows: Sequence[Deleted]) -> pa.Table:
    keys = [{"ordinal": ordinal, **key._asdict()} for ordinal, key in rows]
    return pa.Table.from_pylist(keys, NO_KEYS.schema.append(pa.field("ordinal", pa.int64())))


def is_in(found: DeleteBitmap, row: Deleted, *, partitioned: bool) -> bool:
    """Return whether a row is found in the bitmap, as Spark's generated code looks it up."""
    ordinal, key = row
    place = ordinal if partitioned else key.write_id
    parts = [*([key.write_id] if partitioned else []), key.bucket, key.row_id >> 6]
    for level, part in zip(found.levels, parts, strict=True):
        number = place << 32 | part
        place = int(np.searchsorted(level, number))
        if place == len(level) or level[place] != number:
            return False
    return bool(int(found.bits[place]) >> (key.row_id & 63) & 1)


@given(
    rows=st.lists(_rows, min_size=1, max_size=30),
    others=st.lists(_rows, max_size=30),
    partitioned=st.booleans(),
)
def test_just_the_deleted_rows_have_a_bit(
    rows: list[Deleted], others: list[Deleted], partitioned: bool
) -> None:
    if not partitioned:
        rows, others = ([(0, key) for _, key in some] for some in (rows, others))
    found = make_delete_bitmap(table(rows), partitioned=partitioned)
    assert found is not None
    for row in [*rows, *others]:
        assert is_in(found, row, partitioned=partitioned) is (row in rows)
    assert number_of_deleted_rows(found) == len(set(rows))
    assert len(found.bits) == len({(o, k.write_id, k.bucket, k.row_id >> 6) for o, k in rows})
    for level in found.levels:
        assert np.all(level[1:] > level[:-1])


@given(rows=st.lists(_rows, min_size=1, max_size=30), partitioned=st.booleans())
def test_words_that_are_near_and_far_apart_are_gathered_alike(
    rows: list[Deleted], partitioned: bool
) -> None:
    if not partitioned:
        rows = [(0, key) for _, key in rows]
    found = []
    for most in (0, limits().dense_bitmap_words):
        with pytest.MonkeyPatch.context() as patch:
            set_limits(patch, dense_bitmap_words=most)
            made = make_delete_bitmap(table(rows), partitioned=partitioned)
            assert made is not None
            found.append([made.bits.tolist(), *(level.tolist() for level in made.levels)])
    assert found[0] == found[1]


def row(write_id: int = 1, bucket: int = encode(0), row_id: int = 0, ordinal: int = 0) -> Deleted:
    return ordinal, RowId(write_id, bucket, row_id)


@pytest.mark.parametrize(
    "deleted",
    [row(write_id=2**31), row(write_id=-1), row(bucket=-1), row(row_id=2**38), row(row_id=-1)],
)
def test_numbers_that_are_too_large_are_left_to_a_join(deleted: Deleted) -> None:
    assert make_delete_bitmap(table([row(), deleted]), partitioned=False) is None


def test_words_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(row_id=i) for i in range(0, 640, 2)]
    set_limits(monkeypatch, bitmap_words=10)
    assert make_delete_bitmap(table(rows), partitioned=False) is not None
    set_limits(monkeypatch, bitmap_words=9)
    assert make_delete_bitmap(table(rows), partitioned=False) is None
