"""Delete events in Arrow's columns, and the files that the driver makes of them, without Spark."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from io import BytesIO
from unittest.mock import Mock

import pyarrow as pa
import pyarrow.orc as pa_orc
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from acidsql.format.acid_metadata import KEY_INDEX, STATS, parse_key_index
from acidsql.format.bucket_codec import encode as bucket_property
from acidsql.format.orc_tail import parse_tail
from acidsql.storage import delete_files
from acidsql.storage.delete_files import NO_EVENTS, EventCache, RowId, distinct, encode
from acidsql.storage.filesystem import FileSystem, FileVersion

ROW = StructType([StructField("a", IntegerType())])

_events = st.tuples(
    st.builds(
        RowId,
        st.integers(1, 3),
        st.builds(bucket_property, st.integers(0, 1), st.integers(0, 1)),
        st.integers(0, 5),
    ),
    st.integers(1, 9),
)


def table(events: Sequence[tuple[RowId, int]]) -> pa.Table:
    rows = [{**key._asdict(), delete_files.DELETED_BY: by} for key, by in events]
    return pa.Table.from_pylist(rows, NO_EVENTS.schema)


@given(events=st.lists(_events, max_size=40))
def test_events_are_sorted_and_there_once(events: list[tuple[RowId, int]]) -> None:
    least: dict[RowId, int] = {}
    for key, by in events:
        least[key] = min(by, least.get(key, by))
    expected = [(key, least[key]) for key in sorted(least)]
    found = distinct(table(events))
    assert [
        (RowId(*key), by) for *key, by in zip(*found.to_pydict().values(), strict=True)
    ] == expected
    assert distinct(found).equals(found)
    keys = distinct(table(events).select(RowId._fields))
    assert [RowId(*key) for key in zip(*keys.to_pydict().values(), strict=True)] == sorted(least)


@given(
    files=st.lists(
        st.tuples(
            st.integers(0, 2),
            st.lists(st.builds(RowId, st.integers(1, 2), st.just(0), st.integers(0, 2**62))),
        ),
        max_size=4,
    ),
    twice=st.booleans(),
)
def test_rows_of_other_places_are_other_rows(
    files: list[tuple[int, list[RowId]]], twice: bool
) -> None:
    every = files * 2 if twice else files
    keys = []
    for place, row_ids in [(0, []), *every]:
        own = table([(key, 1) for key in row_ids]).drop_columns(delete_files.DELETED_BY)
        keys.append(own.append_column("place", pa.repeat(pa.scalar(place, pa.int64()), len(own))))
    found = distinct(pa.concat_tables(keys), "place")
    rows = [(place, RowId(*key)) for *key, place in zip(*found.to_pydict().values(), strict=True)]
    assert rows == sorted({(place, key) for place, row_ids in files for key in row_ids})


def test_a_published_file_is_read_once_while_there_is_room(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []
    own = table([(RowId(1, bucket_property(0, 0), 7), 2)])

    def read_events(_: FileSystem, path: str) -> pa.Table:
        read.append(path)
        return own

    monkeypatch.setattr(delete_files, "read_events", read_events)
    cache = EventCache(Mock(spec=FileSystem), capacity=2 * own.nbytes)
    version, later = FileVersion(10, 1), FileVersion(10, 2)

    for path in ("a", "b", "a", "c"):
        assert cache.events(path, version) is own
    assert read == ["a", "b", "c"]
    cache.events("a", version)
    assert read == ["a", "b", "c"]
    cache.events("b", version)
    assert read == ["a", "b", "c", "b"], "the one used least recently gave way"
    cache.events("b", later)
    assert read == ["a", "b", "c", "b", "b"], "another file in its place"
    cache.shared_with(Mock(spec=FileSystem)).events("b", later)
    assert read == ["a", "b", "c", "b", "b"], "another session has it too"


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("stripe_size", [None, 10_000])
def test_a_file_knows_the_last_key_of_each_stripe(
    monkeypatch: pytest.MonkeyPatch, stripe_size: int | None
) -> None:
    if stripe_size:
        small = partial(pa_orc.write_table, stripe_size=stripe_size)
        monkeypatch.setattr(pa_orc, "write_table", small)
    bucket = bucket_property(2)
    events = [(RowId(i // 90_000 + 1, bucket, i * 2654435761 % 2**40), 50) for i in range(200_000)]
    content = encode(distinct(table(events)), ROW, "zlib")
    tail = parse_tail(content, len(content))
    assert (len(tail.stripes) > 1) is (stripe_size is not None)
    read = pa_orc.ORCFile(BytesIO(content))
    lasts = [
        tuple(read.read_stripe(i).column(n)[-1].as_py() for n in range(1, 4))
        for i in range(len(tail.stripes))
    ]
    assert list(parse_key_index(tail.metadata[KEY_INDEX])) == lasts
    assert tail.metadata[STATS] == b"0,0,200000"
    assert read.read().to_pylist()[0] == {
        "operation": 2,
        "originalTransaction": 1,
        "bucket": bucket,
        "rowId": 0,
        "currentTransaction": 50,
        "row": None,
    }


def test_a_file_has_the_types_of_the_table() -> None:
    row = StructType(
        [
            StructField("b", BooleanType()),
            StructField("i1", ByteType()),
            StructField("i2", ShortType()),
            StructField("i4", IntegerType()),
            StructField("i8", LongType()),
            StructField("f4", FloatType()),
            StructField("f8", DoubleType()),
            StructField("d", DecimalType(20, 3)),
            StructField("a `strange.name`", StringType()),
            StructField("o", BinaryType()),
            StructField("day", DateType()),
            StructField("moment", TimestampType()),
            StructField("l", ArrayType(StructType([StructField("n", IntegerType())]))),
            StructField("m", MapType(StringType(), DecimalType(5, 2))),
        ]
    )
    content = encode(table([(RowId(1, bucket_property(0), 0), 2)]), row, "zlib")
    tail = parse_tail(content, len(content))
    (row_id,) = (column for name, column in tail.struct_fields() if name == "row")
    assert [name for name, _ in tail.struct_fields(row_id)] == row.names
    kinds = ["boolean", "byte", "short", "int", "long", "float", "double", "decimal", "string"]
    kinds += ["binary", "date", "timestamp", "list", "struct", "int", "map", "string", "decimal"]
    assert [node.kind for node in tail.types[row_id + 1 :]] == kinds
    decimals = [node for node in tail.types if node.kind == "decimal"]
    assert [(node.precision, node.scale) for node in decimals] == [(20, 3), (5, 2)]


@pytest.mark.parametrize("codec", ["none", "zlib", "snappy", "lz4", "zstd"])
def test_a_file_is_compressed_as_the_table_is(codec: str) -> None:
    content = encode(table([(RowId(1, bucket_property(0), 7), 2)]), ROW, codec)
    tail = parse_tail(content, len(content))
    assert tail.compression == codec
    assert tail.metadata[STATS] == b"0,0,1"
    assert pa_orc.ORCFile(BytesIO(content)).read(columns=["rowId"])["rowId"].to_pylist() == [7]
