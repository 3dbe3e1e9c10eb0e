from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX, footer_items, parse_key_index
from acidsql.format.orc_tail import (
    IntStats,
    OrcTail,
    OrcType,
    append_metadata,
    parse_tail,
    tail_length,
)
from acidsql.format.protobuf import read_fields

DATA = Path(__file__).parent / "data"
FIXTURES = sorted(path.name for path in DATA.glob("*.orc"))
CODECS = ["none", "zlib", "snappy", "lz4", "zstd"]
ACID_NAMES = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row")
ACID_SCHEMA = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<a:int,b:array<string>>>"
)
REFUSED = {"INVALID_ORC_TAIL", "UNSUPPORTED_ORC_COMPRESSION", "UNSUPPORTED_ORC_VERSION"}
ITEMS = footer_items([(2, 536870912, 99)], inserts=100, deletes=0)


def fixture(name: str) -> bytes:
    return (DATA / name).read_bytes()


def pyorc_file(codec: str, rows: int = 100, **options: Any) -> bytes:
    """Return an ACID file of ``pyorc``; many stripes with a small ``stripe_size``."""
    buffer = io.BytesIO()
    kind = getattr(pyorc.CompressionKind, codec.upper())
    with pyorc.Writer(buffer, ACID_SCHEMA, compression=kind, **options) as writer:
        for number in range(rows):
            words = [str(number * 7919 % 1009), "ab" * (number % 5)]
            writer.write((0, 2, 536870912, number, 2, (number, words)))
    return buffer.getvalue()


def pyarrow_file(codec: str) -> bytes:
    table = pa.table({"i": [5, None, -3], "s": ["x", "y", None]})
    sink = pa.BufferOutputStream()
    pa.orc.write_table(table, sink, compression="uncompressed" if codec == "none" else codec)
    return bytes(sink.getvalue())


def parse(data: bytes) -> OrcTail:
    """Parse a file as a caller does: the last bytes first, then as many as are needed."""
    needed = tail_length(data[-256:])
    return parse_tail(data[-needed:], len(data))


def add(data: bytes, items: dict[str, bytes]) -> bytes:
    needed = tail_length(data[-256:])
    return data + append_metadata(data[-needed:], len(data), items)


def rows_by_pyorc(data: bytes) -> tuple[list[Any], dict[str, bytes]]:
    reader = pyorc.Reader(io.BytesIO(data))
    return list(reader), dict(reader.user_metadata)


def rows_by_pyarrow(data: bytes) -> tuple[list[Any], dict[str, bytes]]:
    file = pa.orc.ORCFile(pa.BufferReader(data))
    metadata = dict(file.metadata or {})
    return file.read().to_pylist(), {key.decode(): value for key, value in metadata.items()}


ALL_FILES = [
    *(pytest.param(fixture(name), id=name) for name in FIXTURES),
    *(pytest.param(pyorc_file(codec), id=f"pyorc {codec}") for codec in CODECS),
    *(pytest.param(pyarrow_file(codec), id=f"pyarrow {codec}") for codec in CODECS),
    pytest.param(
        pyorc_file("zlib", 30_000, stripe_size=64 * 1024, compression_block_size=65536),
        id="pyorc many stripes",
    ),
    pytest.param(pyorc_file("zlib", rows=0), id="pyorc empty"),
]
every_file = pytest.mark.parametrize("data", ALL_FILES)


def test_tail_of_a_file_of_hive() -> None:
    tail = parse(fixture("nation25k_delta.orc"))
    assert (tail.file_length, tail.compression, tail.block_size) == (11406, "zlib", 250)
    assert tail.rows == 25_000
    assert [stripe.rows for stripe in tail.stripes] == [5000] * 5
    assert tail.stripes[0].offset == 3
    for stripe, following in zip(tail.stripes, tail.stripes[1:], strict=False):
        length = stripe.index_length + stripe.data_length + stripe.footer_length
        assert following.offset == stripe.offset + length
    assert tail.struct_fields() == tuple(zip(ACID_NAMES, range(1, 7), strict=True))
    assert tail.struct_fields(6) == (
        ("n_nationkey", 7),
        ("n_name", 8),
        ("n_regionkey", 9),
        ("n_comment", 10),
    )
    assert [node.kind for node in tail.types[1:5]] == ["int", "long", "int", "long"]
    assert tail.metadata["hive.acid.stats"] == b"25000,0,0"
    last_keys = parse_key_index(tail.metadata[KEY_INDEX])
    assert tail.stripe_int_stats(4) == tuple(
        IntStats(minimum=row_id - 4999, maximum=row_id, values=5000) for _, _, row_id in last_keys
    )
    assert tail.file_int_stats(4) == IntStats(minimum=0, maximum=24_999, values=25_000)


def test_a_file_without_statistics() -> None:
    tail = parse(fixture("streaming.orc"))
    assert tail.stripe_int_stats(4) == (None, None)
    assert tail.file_int_stats(4) is None


def test_statistics_of_columns_that_have_none() -> None:
    tail = parse(pyarrow_file("zlib"))
    assert tail.file_int_stats(1) == IntStats(minimum=-3, maximum=5, values=2)
    assert tail.stripe_int_stats(1) == (IntStats(minimum=-3, maximum=5, values=2),)
    assert tail.file_int_stats(2) is None
    assert tail.stripe_int_stats(2) == (None,)
    assert tail.file_int_stats(99) is None
    assert tail.stripe_int_stats(99) == (None,)


@pytest.mark.parametrize("number", [0, 1, -1, 2**63 - 1, -(2**63), 300, -129])
def test_extreme_statistics(number: int) -> None:
    sink = pa.BufferOutputStream()
    pa.orc.write_table(pa.table({"i": pa.array([number], pa.int64())}), sink)
    tail = parse(sink.getvalue().to_pybytes())
    assert tail.file_int_stats(1) == IntStats(minimum=number, maximum=number, values=1)


def test_nested_types() -> None:
    assert parse(pyorc_file("zlib")).types[6:] == (
        OrcType(kind="struct", subtypes=(7, 8), field_names=("a", "b")),
        OrcType(kind="int"),
        OrcType(kind="list", subtypes=(9,)),
        OrcType(kind="string"),
    )


@every_file
def test_tails_agree_with_pyorc(data: bytes) -> None:
    tail = parse(data)
    reader = pyorc.Reader(io.BytesIO(data))
    assert isinstance(reader.schema, pyorc.Struct)
    assert tail.rows == len(reader)
    assert tail.compression == reader.compression.name.lower()
    assert tail.block_size == reader.compression_block_size or tail.compression == "none"
    assert tail.metadata == dict(reader.user_metadata)
    assert tuple(name for name, _ in tail.struct_fields()) == tuple(reader.schema.fields)
    assert [(stripe.offset, stripe.rows) for stripe in tail.stripes] == [
        (stripe.bytes_offset, len(stripe)) for stripe in reader.iter_stripes()
    ]
    for column_id, node in enumerate(tail.types):
        if node.kind in {"int", "long"} and reader.num_of_stripes and tail.rows:
            oracle = reader[column_id].statistics
            found = tail.file_int_stats(column_id)
            assert (found.minimum if found else None) == oracle.get("minimum")
            assert (found.maximum if found else None) == oracle.get("maximum")


@every_file
def test_metadata_are_added_and_all_else_stays(data: bytes) -> None:
    changed = add(data, ITEMS)
    assert changed.startswith(data)
    before, after = parse(data), parse(changed)
    assert after.metadata == {**before.metadata, **ITEMS}
    assert after.file_length == len(changed)
    for name in ("rows", "stripes", "types", "file_statistics", "stripe_statistics"):
        assert getattr(after, name) == getattr(before, name)
    for read in (rows_by_pyorc, rows_by_pyarrow):
        rows, metadata = read(data)
        rows_after, metadata_after = read(changed)
        assert rows_after == rows
        assert metadata_after == {**metadata, **ITEMS}


@every_file
def test_appended_bytes(data: bytes) -> None:
    needed = tail_length(data[-256:])
    old, new = data[-needed:], append_metadata(data, len(data), {"k": b"v"})
    old_postscript, new_postscript = old[-1 - old[-1] : -1], new[-1 - new[-1] : -1]
    sections = old[: -1 - old[-1]]
    # footer.metadata = 5 { name = 1 "k", value = 2 "v" }
    item = bytes([5 << 3 | 2, 6, 1 << 3 | 2, 1, *b"k", 2 << 3 | 2, 1, *b"v"])
    compressed = parse(data).compression != "none"
    chunk = (len(item) << 1 | 1).to_bytes(3, "little") + item if compressed else item
    assert new == sections + chunk + new_postscript + bytes([len(new_postscript)])
    expected = {field.number: field.value for field in read_fields(old_postscript)}
    footer_length = expected[1]
    assert isinstance(footer_length, int)
    assert {field.number: field.value for field in read_fields(new_postscript)} == {
        **expected,
        1: footer_length + len(chunk),
    }
    assert new_postscript.endswith(b"ORC")


@every_file
def test_metadata_are_added_twice(data: bytes) -> None:
    changed = add(add(data, {"first": b"1"}), {"second": "zwei é".encode()})
    for read in (rows_by_pyorc, rows_by_pyarrow):
        rows, metadata = read(data)
        expected = {**metadata, "first": b"1", "second": "zwei é".encode()}
        assert read(changed) == (rows, expected)


@every_file
def test_an_item_is_replaced(data: bytes) -> None:
    changed = add(add(data, {KEY_INDEX: b"old", "other": b"o"}), {KEY_INDEX: b"new"})
    footer_items_found = parse(changed).metadata
    assert footer_items_found[KEY_INDEX] == b"new"
    assert b"old" not in append_metadata(
        add(data, {KEY_INDEX: b"old"}), len(data) + 10**6, {KEY_INDEX: b"new"}
    )
    for read in (rows_by_pyorc, rows_by_pyarrow):
        rows, metadata = read(data)
        assert read(changed) == (rows, {**metadata, KEY_INDEX: b"new", "other": b"o"})


def test_items_longer_than_a_compression_block_are_cut_into_chunks() -> None:
    data = fixture("nation25k_delta.orc")
    assert parse(data).block_size == 250
    value = bytes(range(32, 127)) * 40
    changed = add(data, {"long": value})
    assert rows_by_pyorc(changed)[1]["long"] == value
    assert rows_by_pyarrow(changed)[1]["long"] == value
    chunks = append_metadata(data, len(data), {"long": value})[tail_length(data[-256:]) :]
    assert len(chunks) > len(value) + 3 * (len(value) // 250)


@pytest.mark.parametrize("kept", [0, 1, 5, 20, 300, 800])
def test_too_few_bytes_are_refused(kept: int) -> None:
    data = fixture("nation25k_delta.orc")
    with pytest.raises(FormatError) as error:
        parse_tail(data[len(data) - kept :], len(data))
    assert error.value.getCondition() == "INVALID_ORC_TAIL"


@pytest.mark.parametrize("data", [b"", b"\0", b"ORC", b"\xff" * 300, b"PAR1" * 100])
def test_other_files_are_refused(data: bytes) -> None:
    for call in (tail_length, lambda end: parse_tail(end, len(end))):
        with pytest.raises(FormatError) as error:
            call(data)
        assert error.value.getCondition() == "INVALID_ORC_TAIL"


# A streaming file has a whole tail after each flush.
@pytest.mark.parametrize("name", [name for name in FIXTURES if name != "streaming.orc"])
def test_a_file_cut_short_anywhere_is_refused(name: str) -> None:
    data = fixture(name)
    for length in range(len(data) - 1, max(len(data) - 600, 0), -1):
        with pytest.raises(FormatError):
            parse_tail(data[:length], length)


def test_a_tail_longer_than_its_file_is_refused() -> None:
    data = fixture("original.orc")
    with pytest.raises(FormatError, match="bytes long, the file 100"):
        parse_tail(data, 100)


@pytest.mark.parametrize("kind", [3, 6])
def test_codecs_that_cannot_be_read_are_named(kind: int) -> None:
    data = bytearray(fixture("original.orc"))
    postscript = len(data) - 1 - data[-1]
    position = data.index(b"\x10\x01", postscript)
    data[position + 1] = kind
    with pytest.raises(FormatError, match=r"lzo|brotli") as error:
        parse(bytes(data))
    assert error.value.getCondition() == "UNSUPPORTED_ORC_COMPRESSION"


@given(
    st.sampled_from([*map(fixture, FIXTURES), *map(pyorc_file, CODECS)]),
    st.integers(min_value=1, max_value=400),
    st.integers(min_value=1, max_value=255),
)
@settings(max_examples=1500, deadline=None)
def test_a_flipped_byte_gives_a_tail_or_a_format_error(
    data: bytes, distance: int, flip: int
) -> None:
    damaged = bytearray(data)
    damaged[-distance] ^= flip
    try:
        tail = parse_tail(bytes(damaged), len(damaged))
        for column_id in range(len(tail.types)):
            tail.struct_fields(column_id)
            tail.stripe_int_stats(column_id)
            tail.file_int_stats(column_id)
    except FormatError as error:
        assert error.getCondition() in REFUSED  # noqa: PT017
