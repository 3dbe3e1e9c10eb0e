"""Tests of the problems of tails, on files that another ORC writer wrote."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyorc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.checking.problems import RowId
from acidsql.checking.tails import (
    AcidFile,
    codec_problems,
    column_problems,
    file_problems,
    is_convertible,
    is_possible_last_key,
    stripe_problems,
)
from acidsql.format.acid_metadata import footer_items
from acidsql.format.bucket_codec import encode
from acidsql.format.names import parse_directory
from acidsql.format.orc_tail import IntStats, OrcTail, append_metadata, parse_tail

_SCHEMA = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,s:string>>"
)
Event = tuple[int, int, int, int, int]
_B0, _B1 = encode(0), encode(1)


def _tail(
    events: Sequence[Event], metadata: Mapping[str, bytes] | None = None, **options: Any
) -> OrcTail:
    """Return the tail of a file with these events, whose metadata are right by default."""
    buffer = io.BytesIO()
    with pyorc.Writer(buffer, _SCHEMA, **options) as writer:
        for event in events:
            writer.write((*event, None if event[0] == 2 else (1, "a")))
    content = buffer.getvalue()
    if metadata is None:
        deletes = sum(event[0] == 2 for event in events)
        keys = [events[-1][1:4]] if events else []
        metadata = footer_items(keys, len(events) - deletes, deletes)
    content += append_metadata(content, len(content), metadata)
    return parse_tail(content, len(content))


def _names(directory: str, tail: OrcTail, bucket_id: int = 0) -> list[str]:
    parsed = parse_directory(directory)
    assert parsed is not None
    file = AcidFile(path="file:/t/f", directory=parsed, bucket_id=bucket_id, tail=tail)
    return [problem.name for problem in file_problems(file)]


_ROWS: Sequence[Event] = [(0, 2, _B0, 0, 2), (0, 2, _B0, 1, 2)]
_DELETES: Sequence[Event] = [(2, 1, _B0, 0, 2), (2, 1, _B0, 4, 2)]
_DELTA, _DELETE_DELTA = "delta_0000002_0000002_0000", "delete_delta_0000002_0000002_0000"
_ITEMS = footer_items([(2, _B0, 1)], 2, 0)


def _but(**items: bytes | None) -> dict[str, bytes]:
    """Return the right metadata of the rows with some items changed, or left out."""
    changed: dict[str, bytes | None] = {**_ITEMS}
    changed.update({f"hive.acid.{k.replace('_', '.')}": v for k, v in items.items()})
    return {key: value for key, value in changed.items() if value is not None}


@pytest.mark.parametrize(
    ("directory", "events"),
    [
        (_DELTA, _ROWS),
        (_DELTA, []),
        (_DELETE_DELTA, _DELETES),
        ("base_0000003", _ROWS),
        ("base_-9223372036854775808_v0000003", [(0, 0, _B0, 0, 0)]),
        ("delta_0000001_0000004", [(0, 2, _B0, 0, 2), (0, 4, _B0, 0, 4)]),
        (_DELTA, [(0, 2, 0, 0, 2)]),
    ],
)
def test_files_as_they_should_be(directory: str, events: Sequence[Event]) -> None:
    assert _names(directory, _tail(events)) == []


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        (_but(key_index=None), ["NO_KEY_INDEX"]),
        (_but(key_index=b""), ["INVALID_KEY_INDEX"]),
        (_but(key_index=b"x"), ["INVALID_KEY_INDEX"]),
        (_but(key_index=b"2,536870912,0;"), ["INVALID_KEY_INDEX"]),
        (_but(key_index=b"1,536870912,1;"), ["INVALID_KEY_INDEX"]),
        (_but(stats=None), ["NO_ACID_STATS"]),
        (_but(stats=b"0,0,0"), ["INVALID_ACID_STATS"]),
        (_but(stats=b"0,0,2"), ["INVALID_ACID_STATS"]),
        (_but(stats=b"two"), ["INVALID_ACID_STATS"]),
        (_but(version=b"1"), ["INVALID_ACID_VERSION"]),
        (_but(version=None), []),
        ({}, ["NO_KEY_INDEX", "NO_ACID_STATS"]),
    ],
)
def test_metadata(metadata: Mapping[str, bytes], expected: list[str]) -> None:
    assert _names(_DELTA, _tail(_ROWS, metadata)) == expected


def test_compactions_by_queries_write_no_metadata() -> None:
    assert _names("base_0000002_v0000009", _tail(_ROWS, {"hive.acid.version": b"2"})) == []


@pytest.mark.parametrize(
    ("directory", "events", "expected"),
    [
        (_DELTA, [(1, 1, _B0, 0, 2)], "ACID_V1_EVENTS"),
        (_DELETE_DELTA, [(0, 2, _B0, 0, 2)], "ROWS_AMONG_DELETE_EVENTS"),
        (_DELTA, [(0, 3, _B0, 0, 3)], "WRITE_ID_OUT_OF_RANGE"),
        (_DELTA, [(0, 1, _B0, 0, 1)], "WRITE_ID_OUT_OF_RANGE"),
        (_DELETE_DELTA, [(2, 1, _B0, 0, 3)], "WRITE_ID_OUT_OF_RANGE"),
        ("base_0000001", _ROWS, "WRITE_ID_OUT_OF_RANGE"),
        (_DELTA, [(0, 2, _B1, 0, 2)], "BUCKET_OF_ANOTHER_FILE"),
        (_DELTA, [(0, 2, 7 << 29 - 1, 0, 2)], "INVALID_BUCKET_PROPERTY"),
    ],
)
def test_events(directory: str, events: Sequence[Event], expected: str) -> None:
    tail = _tail(events)
    found = [name for name in _names(directory, tail) if not name.endswith("_STATS")]
    assert found == [expected]


@given(
    st.lists(
        st.tuples(st.integers(1, 3), st.integers(0, 2), st.integers(0, 9)),
        min_size=1,
        unique=True,
    )
)
def test_the_last_key_of_a_sorted_stripe_is_possible(keys: list[tuple[int, int, int]]) -> None:
    keys.sort()
    found = [IntStats(min(part), max(part), len(keys)) for part in zip(*keys, strict=True)]
    assert is_possible_last_key(RowId(*keys[-1]), found)
    above = RowId(keys[-1][0] + 1, 0, 0)
    below = RowId(keys[0][0] - 1, 0, 0)
    assert not is_possible_last_key(above, found)
    assert not is_possible_last_key(below, found)


def test_a_file_of_which_bytes_before_the_tail_are_missing() -> None:
    tail = _tail(_ROWS)
    assert list(stripe_problems("f", tail)) == []
    shorter = replace(tail, file_length=tail.stripes[0].offset + 1)
    (found,) = stripe_problems("f", shorter)
    assert found.name == "DAMAGED_STRIPES"
    (found,) = stripe_problems("f", replace(tail, rows=3))
    assert found.detail == "its stripes have 2 rows, the file 3"
    overlapping = replace(tail, stripes=tail.stripes * 2)
    assert [p.name for p in stripe_problems("f", overlapping)] == ["DAMAGED_STRIPES"]


@pytest.mark.parametrize(
    ("kind", "column", "expected"),
    [
        ("int", "bigint", True),
        ("int", "string", True),
        ("string", "decimal(10,2)", True),
        ("date", "timestamp", True),
        ("string", "binary", True),
        ("int", "binary", False),
        ("binary", "int", False),
        ("list", "array<int>", True),
        ("list", "map<int,int>", False),
        ("struct", "STRUCT<a: INT>", True),
        ("struct", "int", False),
        ("map", "map<string,int>", True),
    ],
)
def test_types_that_can_be_converted(kind: str, column: str, expected: bool) -> None:
    assert is_convertible(kind, column) is expected


def test_columns_are_compared_by_position() -> None:
    tail = _tail(_ROWS)
    struct = tail.types[0].subtypes[-1]
    columns = [("other", "bigint"), ("s", "array<string>"), ("added", "int")]
    (found,) = column_problems("f", tail, columns, struct)
    assert found.detail == "column s is array<string>; s of the file is string"
    assert list(column_problems("f", tail, [("id", "int")], struct)) == []


def test_codecs() -> None:
    zstd = _tail(_ROWS, compression=pyorc.CompressionKind.ZSTD)
    assert list(codec_problems("f", zstd, "zstd", readers_know_zstd=True)) == []
    assert list(codec_problems("f", zstd, None, readers_know_zstd=True)) == []
    (other,) = codec_problems("f", zstd, "zlib", readers_know_zstd=True)
    assert other.name == "OTHER_CODEC"
    (unknown,) = codec_problems("f", zstd, "zstd", readers_know_zstd=False)
    assert unknown.name == "UNSUPPORTED_CODEC"
    # A file without rows has nothing that is compressed.
    assert list(codec_problems("f", _tail([]), "none", readers_know_zstd=True)) == []
