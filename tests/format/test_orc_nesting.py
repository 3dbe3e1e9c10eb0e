"""Tests of the tail that moves columns beside ``row`` into ``row``."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.orc
import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.errors import FormatError
from acidsql.format.orc_tail import append_metadata, parse_tail

KEYS = "operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,currentTransaction:bigint"
# ORC types with values of theirs.
TYPES: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(-(2**31), 2**31 - 1),
    "string": st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9),
    "array<int>": st.lists(st.integers(0, 9), max_size=3),
    "map<string,int>": st.dictionaries(st.sampled_from("abc"), st.integers(0, 9), max_size=2),
    "struct<x:int,y:array<string>>": st.tuples(
        st.integers(0, 9), st.lists(st.sampled_from("abc"), max_size=2)
    ),
}


def staged(types: list[str], rows: list[tuple[Any, ...]], **options: Any) -> bytes:
    others = "".join(f",__field_{i}:{t}" for i, t in enumerate(types) if i)
    schema = f"struct<{KEYS},row:struct<__field_0:{types[0]}>{others}>"
    buffer = io.BytesIO()
    with pyorc.Writer(buffer, schema, **options) as writer:
        for number, row in enumerate(rows):
            writer.write((0, 3, 536870912, number, 3, (row[0],), *row[1:]))
    return buffer.getvalue()


def nested(data: bytes, names: list[str]) -> bytes:
    return data + append_metadata(data, len(data), {"k": b"v"}, names)


@st.composite
def tables(draw: st.DrawFn) -> tuple[list[str], list[str], list[tuple[Any, ...]]]:
    types = draw(st.lists(st.sampled_from(sorted(TYPES)), min_size=1, max_size=6))
    names = draw(
        st.lists(
            st.text(st.characters(codec="utf-8", exclude_characters="\0`"), min_size=1, max_size=5),
            min_size=len(types),
            max_size=len(types),
            unique=True,
        )
    )
    row = st.tuples(*[st.none() | TYPES[t] for t in types])
    return types, names, draw(st.lists(row, max_size=20))


@settings(max_examples=200, deadline=None)
@given(tables(), st.sampled_from(["NONE", "ZLIB", "SNAPPY", "ZSTD"]))
def test_columns_beside_row_become_its_fields(
    table: tuple[list[str], list[str], list[tuple[Any, ...]]], codec: str
) -> None:
    types, names, rows = table
    data = nested(staged(types, rows, compression=getattr(pyorc.CompressionKind, codec)), names)
    expected = [(0, 3, 536870912, i, 3, row) for i, row in enumerate(rows)]
    assert list(pyorc.Reader(io.BytesIO(data))) == expected
    tail = parse_tail(data, len(data))
    top, inner = tail.struct_fields(), tail.struct_fields(6)
    assert [column for _, column in top] == [1, 2, 3, 4, 5, 6]
    assert [name for name, _ in inner] == names
    assert [tail.types[column].kind for _, column in inner] == [
        {"array": "list"}.get(t.partition("<")[0], t.partition("<")[0]) for t in types
    ]


def test_pyarrow_reads_every_stripe_and_any_column() -> None:
    rows = [(n, str(n * 7919 % 1009) * 3, n * 2) for n in range(60_000)]
    types = ["int", "string", "int"]
    none = pyorc.CompressionKind.NONE
    data = nested(staged(types, rows, stripe_size=64 * 1024, compression=none), ["a", "b", "c"])
    file = pa.orc.ORCFile(pa.BufferReader(data))
    assert file.nstripes > 1
    table = file.read(columns=["rowId", "row.c"]).to_pylist()
    assert table == [{"rowId": n, "row": {"c": c}} for n, (_, _, c) in enumerate(rows)]


@pytest.mark.parametrize(
    ("types", "names"),
    [
        pytest.param(["int", "int"], ["a"], id="fewer names"),
        pytest.param(["int"], ["a", "b"], id="more names"),
    ],
)
def test_other_columns_than_were_written(types: list[str], names: list[str]) -> None:
    data = staged(types, [])
    with pytest.raises(FormatError, match=rf"has {len(types)} columns, {len(names)} were"):
        append_metadata(data, len(data), {}, names)


@pytest.mark.parametrize("schema", ["struct<a:int>", f"struct<{KEYS},b:int,c:int,d:int>"])
def test_not_a_staged_file(schema: str) -> None:
    buffer = io.BytesIO()
    pyorc.Writer(buffer, schema).close()
    data = buffer.getvalue()
    with pytest.raises(FormatError, match="INVALID_ORC_TAIL"):
        append_metadata(data, len(data), {}, ["x", "y"])
