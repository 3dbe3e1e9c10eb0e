"""Target ``tails``: ends of ORC files."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.orc
import pyorc

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import (
    KEY_INDEX,
    STATS,
    footer_items,
    parse_key_index,
    parse_stats,
)
from acidsql.format.orc_stripes import joined_tail, stripe_file, stripes_of
from acidsql.format.orc_tail import OrcTail, append_metadata
from acidsql.storage.tails import parsed, read_tail
from tests.fuzz.broken import broken_bytes
from tests.fuzz.target import Target
from tests.metastore.local_files import LocalFiles

_DATA = Path(__file__).parents[1] / "format" / "data"
_GOLDEN = Path(__file__).parents[1] / "golden" / "tables"
_ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<a:int,b:string,c:decimal(9,2),d:timestamp,e:array<int>>>"
)
_FILES = LocalFiles()
_place: list[Path] = []


def _made(codec: str) -> bytes:
    buffer = io.BytesIO()
    kind = getattr(pyorc.CompressionKind, codec.upper())
    with pyorc.Writer(buffer, _ACID, compression=kind, stripe_size=2048) as writer:
        for number in range(40):
            writer.write((0, 2, 536870912, number, 2, (number, "x" * number, None, None, [1])))
    return buffer.getvalue()


def _by_arrow(codec: str) -> bytes:
    sink = pa.BufferOutputStream()
    table = pa.table({"i": [5, None, -3], "s": ["x", "y", None], "f": [1.5, float("nan"), 0.0]})
    pyarrow.orc.write_table(table, sink, compression=codec)
    return bytes(sink.getvalue())


def whole_files() -> list[bytes]:
    """Return ORC files of Hive, of Spark's writer, of ORC's C++ writer and of Arrow's."""
    hive = sorted(_GOLDEN.rglob("bucket_0000*"), key=lambda path: (path.stat().st_size, path))
    codecs = ["none", "zlib", "snappy", "lz4", "zstd"]
    return [
        *(path.read_bytes() for path in sorted(_DATA.glob("*.orc"))),
        *(path.read_bytes() for path in hive[: len(hive) // 2 : 12]),
        *map(_made, codecs),
        *map(_by_arrow, ["uncompressed", *codecs[1:]]),
    ]


@contextmanager
def _a_place() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="acidsql-fuzz-") as home:
        _place[:] = [Path(home) / "bucket_00000"]
        yield


def _check(content: bytes) -> None:
    path = _place[0]
    path.write_bytes(content)
    try:
        tail = read_tail(_FILES, f"file:{path}")
        _look(tail)
        parsed(_FILES, f"file:{path}", _append)
        parsed(_FILES, f"file:{path}", _join)
    except FormatError as error:
        assert error.getSqlState()
        assert len(str(error)) < 2000


def _look(tail: OrcTail) -> None:
    for column in range(min(len(tail.types), 50)):
        tail.struct_fields(column)
        tail.file_int_stats(column)
        tail.stripe_int_stats(column)
    for key, parse in ((KEY_INDEX, parse_key_index), (STATS, parse_stats)):
        if key in tail.metadata:
            parse(tail.metadata[key])
    assert len(tail.stripes) <= tail.file_length


def _append(last: bytes, size: int) -> None:
    items = footer_items([(2, 536870912, 99)], inserts=100, deletes=0)
    append_metadata(last, size, items)


def _join(last: bytes, size: int) -> None:
    file = stripe_file(last, size)
    if file is not None and file.tail.stripes:
        joined_tail(stripes_of(file), {})


TAILS = Target(
    name="tails",
    summary="ends of ORC files",
    inputs=broken_bytes(whole_files()),
    check=_check,
    around=_a_place,
)
