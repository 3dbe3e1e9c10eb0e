"""Deleted rows as bits, without Spark."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.bucket_codec import encode
from acidsql.scan import bitmaps
from acidsql.scan.bitmaps import Bitmaps, bitmaps_of
from acidsql.storage.delete_files import NO_KEYS, RowId

Deleted = tuple[int, RowId]

_rows = st.tuples(
    st.integers(0, 3),
    st.builds(
        RowId,
        st.integers(0, 40),
        st.builds(encode, st.integers(0, 5), st.integers(0, 3)),
        st.integers(0, 300),
    ),
)


def table(rows: Sequence[Deleted]) -> pa.Table:
    keys = [{"ordinal": ordinal, **key._asdict()} for ordinal, key in rows]
    return pa.Table.from_pylist(keys, NO_KEYS.schema.append(pa.field("ordinal", pa.int64())))


def rows_of(found: Bitmaps, *, partitioned: bool) -> set[Deleted]:
    """The rows whose bits are set."""
    rows = set()
    for indexes, words in found.words.items():
        ordinal, write_id, writer = indexes if partitioned else (0, *indexes)
        bucket, statement = divmod(writer, 8)
        write_id += found.least
        assert len(words) % 8 == 0
        for word in range(len(words) // 8):
            bits = int.from_bytes(words[word * 8 : word * 8 + 8], sys.byteorder)
            rows |= {
                (ordinal, RowId(write_id, encode(bucket, statement), word * 64 + bit))
                for bit in range(64)
                if bits >> bit & 1
            }
    return rows


@given(rows=st.lists(_rows, max_size=30), partitioned=st.booleans())
def test_the_bits_are_those_of_the_deleted_rows(rows: list[Deleted], partitioned: bool) -> None:
    if not partitioned:
        rows = [(0, key) for _, key in rows]
    found = bitmaps_of(table(rows), partitioned=partitioned)
    assert found is not None
    assert rows_of(found, partitioned=partitioned) == set(rows)


def row(write_id: int = 1, bucket: int = encode(0), row_id: int = 0, ordinal: int = 0) -> Deleted:
    return ordinal, RowId(write_id, bucket, row_id)


@pytest.mark.parametrize(
    "rows",
    [
        [row(row_id=64 * 64)],  # 65 words for one row
        [row(write_id=7), row(write_id=50_007)],
        [row(ordinal=50_000)],
        [row(bucket=encode(0, 8))],
        [row(write_id=-1)],
        [row(bucket=0)],  # a bucket of version 0
        [row(row_id=-1)],
        [row(row_id=-1), row(row_id=1)],
        [row(write_id=i) for i in range(1_000)],  # beside the one of these
    ],
)
def test_what_takes_too_much_is_left_to_a_join(rows: list[Deleted]) -> None:
    assert bitmaps_of(table(rows), partitioned=True) is None


def test_high_write_ids_take_no_more() -> None:
    found = bitmaps_of(table([row(write_id=5_000_000), row(write_id=5_000_001)]), partitioned=False)
    assert found is not None
    assert (found.least, set(found.words)) == (5_000_000, {(0, 0), (1, 0)})


def test_words_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [row(row_id=i) for i in range(0, 640, 2)]
    monkeypatch.setattr(bitmaps, "_MOST_WORDS", 10)
    assert bitmaps_of(table(rows), partitioned=False) is not None
    monkeypatch.setattr(bitmaps, "_MOST_WORDS", 9)
    assert bitmaps_of(table(rows), partitioned=False) is None
