"""Stripes of several files in one, read back by two other implementations of ORC."""

from __future__ import annotations

from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow.orc as pa_orc
import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.format.orc_stripes import HEADER, CopiedStripe, joined_tail, stripe_file, stripes_of

SCHEMA = "struct<i:int,t:string,n:decimal(9,2),a:array<string>,f:boolean>"
CODECS = ["NONE", "ZLIB", "SNAPPY", "LZ4", "ZSTD"]
Row = tuple[Any, ...]


def written(
    rows: list[Row], codec: str = "ZLIB", schema: str = SCHEMA, stripe: int = 1, **options: Any
) -> bytes:
    """Return the bytes of an ORC file with each batch of rows as a stripe."""
    buffer = BytesIO()
    compression = pyorc.CompressionKind[codec]
    writer = pyorc.Writer(
        buffer, schema, compression=compression, stripe_size=stripe, batch_size=100, **options
    )
    with writer:
        for row in rows:
            writer.write(row)
        writer.set_user_metadata(who=b"pyorc", rows=str(len(rows)).encode())
    return buffer.getvalue()


def rows(first: int, count: int) -> list[Row]:
    return [
        (
            i,
            f"t{i}" if i % 3 else None,
            Decimal(i) / 4,
            [f"e{i}", None] if i % 5 else None,
            i % 2 == 0,
        )
        for i in range(first, first + count)
    ]


def copied(content: bytes) -> list[CopiedStripe]:
    file = stripe_file(content, len(content))
    assert file is not None
    return stripes_of(file)


def joined(chosen: list[tuple[bytes, CopiedStripe]], **items: bytes) -> bytes:
    body = b"".join(content[s.stripe.offset : s.stripe.offset + s.length] for content, s in chosen)
    return HEADER + body + joined_tail([s for _, s in chosen], items)


def read(content: bytes) -> list[Row]:
    found = list(pyorc.Reader(BytesIO(content)))
    table = pa_orc.ORCFile(BytesIO(content)).read()
    assert [tuple(row.values()) for row in table.to_pylist()] == found
    return found


@pytest.mark.parametrize("codec", CODECS)
def test_all_stripes_of_two_files(codec: str) -> None:
    contents = [written(rows(0, 450), codec), written(rows(450, 230), codec)]
    chosen = [(content, stripe) for content in contents for stripe in copied(content)]
    assert len(chosen) >= (7 if codec == "NONE" else 2)
    whole = joined(chosen, added=b"1", rows=b"680")
    assert read(whole) == rows(0, 680)
    reader = pyorc.Reader(BytesIO(whole))
    assert reader.num_of_stripes == len(chosen)
    assert reader.user_metadata == {"who": b"pyorc", "added": b"1", "rows": b"680"}
    assert reader[1].statistics["minimum"] == 0
    assert reader[1].statistics["maximum"] == 679
    again = copied(whole)
    assert [s.stripe.rows for s in again] == [s.stripe.rows for _, s in chosen]


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=12))
def test_any_stripes_in_any_order(numbers: list[int]) -> None:
    chosen = [(_FILES[n], copied(_FILES[n])[0]) for n in numbers]
    assert read(joined(chosen)) == [row for n in numbers for row in rows(n * 100, 60)]


_FILES = [written(rows(n * 100, 60)) for n in range(5)]


@pytest.mark.parametrize(
    "other",
    [
        written(rows(0, 9), "ZSTD"),
        written(rows(0, 9), compression_block_size=131072),
        written(rows(0, 9), row_index_stride=5000),
        written([r[:4] for r in rows(0, 9)], schema=SCHEMA.replace(",f:boolean", "")),
        written(rows(0, 9), schema=SCHEMA.replace("t:", "other:")),
        written(rows(0, 9), schema=SCHEMA.replace("(9,2)", "(10,2)")),
    ],
)
def test_files_that_differ_are_of_other_kinds(other: bytes) -> None:
    plain, file = written(rows(0, 9)), stripe_file(other, len(other))
    same = stripe_file(plain, len(plain))
    assert file is not None
    assert same is not None
    assert file.kind != same.kind
    assert same.kind == copied(written(rows(50, 80)))[0].file.kind
