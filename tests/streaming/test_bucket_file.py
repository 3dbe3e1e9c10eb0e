"""Tests of files that grow: at each flushed length they are whole ORC files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.orc as pa_orc
import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from acidsql.format.acid_metadata import KEY_INDEX, parse_key_index
from acidsql.format.bucket_codec import encode
from acidsql.format.orc_tail import parse_tail
from acidsql.storage.local_files import LocalFiles
from acidsql.streaming.bucket_file import BucketFile, insert_events
from acidsql.streaming.files import StreamingFiles

SCHEMA = pa.schema([("n", pa.int32()), ("s", pa.string())])
rows = st.lists(st.tuples(st.integers(-(2**31), 2**31 - 1), st.text(max_size=5)), max_size=8)
# Each transaction appends some parts, and is flushed or discarded.
transactions = st.lists(
    st.tuples(st.lists(rows.filter(bool), max_size=3), st.booleans()), max_size=6
)


def _bucket_file(path: Path, codec: str = "zlib", *, has_side_file: bool = True) -> BucketFile:
    files = StreamingFiles(LocalFiles(synchronous=False))
    return BucketFile(files, f"file:{path}", codec=codec, has_side_file=has_side_file)


def _events(write_id: int, first: int, values: list[tuple[int, str]]) -> pa.Table:
    arrays = [pa.array([v[i] for v in values], field.type) for i, field in enumerate(SCHEMA)]
    return insert_events(pa.table(arrays, schema=SCHEMA), write_id, encode(3), first)


@settings(max_examples=60)
@given(transactions, st.sampled_from(["none", "zlib", "snappy", "zstd"]))
def test_every_flushed_length_is_a_whole_file(
    history: list[tuple[list[list[tuple[int, str]]], bool]], codec: str
) -> None:
    with TemporaryDirectory() as home:
        path = Path(home) / "bucket_00003"
        side = Path(home) / "bucket_00003_flush_length"
        file = _bucket_file(path, codec)
        expected: list[list[tuple[int, ...]]] = []
        seen: list[tuple[int, ...]] = []
        for write_id, (parts, is_committed) in enumerate(history, start=5):
            added: list[tuple[int, ...]] = []
            for part in parts:
                file.append(_events(write_id, len(added), part))
                keys = range(len(added), len(added) + len(part))
                added += [(0, write_id, encode(3), k, write_id, v) for k, v in zip(keys, part)]  # type: ignore[misc] # noqa: B905
            if is_committed and added:
                file.flush()
                seen = [*seen, *added]
                expected.append(seen)
            else:
                file.discard()
        note = side.read_bytes()
        lengths = [int.from_bytes(note[i : i + 8], "big") for i in range(0, len(note), 8)]
        assert lengths[0] == 0
        content = path.read_bytes()
        for length, wanted in zip(lengths[1:], expected, strict=True):
            _check(content[:length], wanted)
        file.close()
        assert not side.exists()
        assert path.exists() == bool(expected)
        if expected:
            _check(path.read_bytes(), expected[-1])


def _check(content: bytes, wanted: list[tuple[int, ...]]) -> None:
    reader = pyorc.Reader(BytesIO(content))
    assert list(reader) == wanted
    by_arrow = pa_orc.ORCFile(BytesIO(content)).read().to_pylist()
    assert [(*list(e.values())[:5], tuple(e["row"].values())) for e in by_arrow] == wanted
    tail = parse_tail(content, len(content))
    assert tail.metadata["hive.acid.stats"] == f"{len(wanted)},0,0".encode()
    assert tail.metadata["hive.acid.version"] == b"2"
    ends = [sum(s.rows for s in tail.stripes[: i + 1]) - 1 for i in range(len(tail.stripes))]
    assert parse_key_index(tail.metadata[KEY_INDEX]) == tuple(wanted[end][1:4] for end in ends)
    for column in (2, 3, 4):
        found = tail.file_int_stats(column)
        values = [event[column - 1] for event in wanted]
        assert found is not None
        assert (found.minimum, found.maximum, found.values) == (
            min(values), max(values), len(values),
        )  # fmt: skip
        assert len(tail.stripe_int_stats(column)) == len(tail.stripes)


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "bucket_00000"
    file = _bucket_file(path)
    file.append(_events(1, 0, [(1, "a")]))
    file.flush()
    with path.open("ab") as stream:
        stream.write(b"half a stripe")
    file.append(_events(2, 0, [(2, "b")]))
    file.flush()
    file.close()
    assert [event[5] for event in pyorc.Reader(path.open("rb"))] == [(1, "a"), (2, "b")]


def test_a_file_of_one_transaction_has_no_side_file(tmp_path: Path) -> None:
    path = tmp_path / "bucket_00000"
    file = _bucket_file(path, has_side_file=False)
    file.append(_events(1, 0, [(1, "a")]))
    file.flush()
    assert [p.name for p in tmp_path.iterdir()] == ["bucket_00000"]
    with pytest.raises(FileExistsError):
        _bucket_file(path, has_side_file=False)
