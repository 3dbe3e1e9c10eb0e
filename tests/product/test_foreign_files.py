"""Tests of files of other writers, readable ones and others."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyorc
import pytest
from py4j.java_gateway import get_field, set_field

import acidsql
from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_ACID = (
    "struct<operation:int,originalTransaction:bigint,bucket:int,rowId:bigint,"
    "currentTransaction:bigint,row:struct<id:int,s:string>>"
)


def _write(path: Path, events: Sequence[tuple[object, ...]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as stream, pyorc.Writer(stream, _ACID) as writer:
        writer.writerows(events)


@pytest.fixture
def table(lab: Lab) -> str:
    return lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")


def _streamed(lab: Lab, table: str) -> Path:
    """Write a delta of two write ids; return its bucket file."""
    delta = lab.root(table) / "delta_0000002_0000003"
    events = [(0, w, encode(0), i, w, (10 * w + i, "s")) for w in (2, 3) for i in range(2)]
    _write(delta / "bucket_00000", events)
    lab.session.metastore.seed_write_id("default", table, 4)
    return delta / "bucket_00000"


def _note(file: Path, *lengths: int) -> None:
    text = b"".join(length.to_bytes(8, "big", signed=True) for length in lengths)
    file.with_name(file.name + "_flush_length").write_bytes(text)


def test_a_streaming_file_that_is_complete_is_read(lab: Lab, table: str) -> None:
    file = _streamed(lab, table)
    _note(file, 0, 100, file.stat().st_size)
    assert lab.rows(table, "id") == [(1,), (2,), (20,), (21,), (30,), (31,)]


def _still_written(lab: Lab, file: Path) -> Any:
    """Have ORC's own writer write a file, as Hive's streaming does: after two rows of write id 2 a
    footer, whose end is noted; rows of write id 3 behind it. The writer stays open.
    """
    jvm = lab.spark.sparkContext._jvm
    orc = jvm.org.apache.orc
    conf = lab.spark.sparkContext._jsc.hadoopConfiguration()
    raw = jvm.org.apache.hadoop.fs.RawLocalFileSystem()
    raw.initialize(jvm.java.net.URI("file:///"), conf)
    schema = orc.TypeDescription.fromString(_ACID)
    options = orc.OrcFile.writerOptions(conf).setSchema(schema).fileSystem(raw).overwrite(True)
    writer = orc.OrcFile.createWriter(jvm.org.apache.hadoop.fs.Path(str(file)), options)

    def write(write_id: int) -> int:
        batch = schema.createRowBatch()
        *columns, struct = get_field(batch, "cols")
        row_id, text = get_field(struct, "fields")
        for row in range(2):
            values = (0, write_id, encode(0), row, write_id, 10 * write_id + row)
            for column, value in zip([*columns, row_id], values, strict=True):
                get_field(column, "vector")[row] = value
            text.setVal(row, bytearray(b"s"))
        set_field(batch, "size", 2)
        writer.addRowBatch(batch)
        return int(writer.writeIntermediateFooter())

    first = write(2)
    write(3)
    os.truncate(file, file.stat().st_size - 10)  # its footer is half written
    _note(file, 0, first)
    return writer


def test_the_complete_part_of_a_file_that_is_still_written_is_read(lab: Lab, table: str) -> None:
    file = _streamed(lab, table)
    file.unlink()
    writer = _still_written(lab, file)
    expected = [(1,), (2,), (20,), (21,)]
    frame = lab.frame(f"SELECT a.id FROM {table} a JOIN {table} b ON a.id = b.id")
    assert not list(lab.root(table).glob("_acidsql_staging_*"))
    assert sorted(tuple(row) for row in frame.collect()) == expected
    lab.sql(f"UPDATE {table} SET s = 'u' WHERE id >= 2")
    other = lab.create("id INT, s STRING")
    lab.sql(f"INSERT INTO {other} SELECT * FROM {table}")
    assert lab.rows(other) == lab.rows(table) == [(1, "a"), (2, "u"), (20, "u"), (21, "u")]
    writer.close()


def test_a_file_whose_complete_part_is_empty_has_no_rows(lab: Lab, table: str) -> None:
    _note(_streamed(lab, table), 0)
    assert lab.rows(table, "id") == [(1,), (2,)]


def test_side_files_count_where_a_streaming_client_writes_only(lab: Lab, table: str) -> None:
    """Check that side files have no effect elsewhere than in uncompacted deltas of several write
    ids.
    """
    delta = lab.root(table) / "delta_0000002_0000002"
    _write(delta / "bucket_00000", [(0, 2, encode(0), 0, 2, (20, "s"))])
    _note(delta / "bucket_00000", 0)
    lab.session.metastore.seed_write_id("default", table, 3)
    assert lab.rows(table, "id") == [(1,), (2,), (20,)]


@pytest.mark.parametrize("lengths", [(), (-1,), (0, 10**9)])
def test_a_note_that_cannot_be_right_is_refused(
    lab: Lab, table: str, lengths: tuple[int, ...]
) -> None:
    _note(_streamed(lab, table), *lengths)
    with pytest.raises(FormatError, match=r"delta_0000002_0000003/bucket_00000 is still") as caught:
        lab.rows(table)
    assert caught.value.condition == "OPEN_STREAMING_FILE"


@pytest.mark.parametrize("seen", ["0", "2", "3"])
def test_rows_of_a_streaming_file_are_those_of_the_write_ids_that_are_seen(
    lab: Lab, table: str, seen: str
) -> None:
    _streamed(lab, table)
    lists = {"0": "d.t:3:2:2,3:", "2": "d.t:3:3:3:", "3": f"d.t:3:{2**63 - 1}::"}
    frame = acidsql.table(lab.spark, table, valid_write_ids=lists[seen])
    expected = {"0": [1, 2], "2": [1, 2, 20, 21], "3": [1, 2, 20, 21, 30, 31]}
    assert sorted(row.id for row in frame.collect()) == expected[seen]


def test_updates_of_acid_v1_are_refused(lab: Lab, table: str) -> None:
    delta = lab.root(table) / "delta_0000002_0000002"
    _write(delta / "bucket_00000", [(0, 2, 0, 0, 2, (3, "c"))])
    _write(delta / "bucket_00001", [(0, 2, 1, 0, 2, (4, "d")), (1, 1, encode(0), 0, 2, (1, "u"))])
    lab.session.metastore.seed_write_id("default", table, 3)
    with pytest.raises(FormatError, match=r"bucket_00001 holds updates or deletes of ACID v1") as e:
        lab.rows(table)
    assert e.value.condition == "ACID_V1_EVENTS"


def test_rows_of_acid_v1_are_read_updated_and_compacted(lab: Lab, table: str) -> None:
    """Check rows whose bucket property is the bare bucket id."""
    _write(
        lab.root(table) / "delta_0000002_0000002" / "bucket_00001",
        [(0, 2, 1, 0, 2, (3, "c")), (0, 2, 1, 1, 2, (4, "d"))],
    )
    lab.session.metastore.seed_write_id("default", table, 3)
    found = {i: tuple(row_id) for i, row_id in lab.sql(f"SELECT id, row__id FROM {table}")}
    assert (found[3], found[4]) == ((2, 1, 0), (2, 1, 1))
    lab.sql(f"DELETE FROM {table} WHERE id = 3")
    assert (lab.root(table) / "delete_delta_0000003_0000003_0000" / "bucket_00001").exists()
    lab.compact(table, "major")
    assert lab.rows(table, "id") == [(1,), (2,), (4,)]


def test_a_plain_orc_file_named_like_a_bucket_is_refused(lab: Lab, table: str) -> None:
    lab.frame("SELECT 1 AS x").coalesce(1).write.orc(str(lab.root(table) / "_plain"))
    delta = lab.root(table) / "delta_0000002_0000002_0000"
    delta.mkdir()
    file = next((lab.root(table) / "_plain").glob("part-*"))
    shutil.move(file, delta / "bucket_00000")
    lab.session.metastore.seed_write_id("default", table, 3)
    with pytest.raises(FormatError, match=r"bucket_00000 .* has the columns x: ") as caught:
        lab.rows(table)
    assert caught.value.condition == "NOT_AN_ACID_FILE"


def test_a_minor_compaction_of_one_write_id_applies_its_own_deletes(lab: Lab, table: str) -> None:
    """Check a transaction of Hive that inserts two rows and deletes one of them.

    In a pair of compacted directories Hive's vectorised reader would show both.
    """
    lab.insert(table, "(3, 'c')")
    lab.compact(table, "major")
    root = lab.root(table)
    events = [(0, 3, encode(0), i, 3, (20 + i, "s")) for i in range(2)]
    _write(root / "delta_0000003_0000003_0000" / "bucket_00000", events)
    _write(
        root / "delete_delta_0000003_0000003_0001" / "bucket_00000",
        [(2, 1, encode(0), 0, 3, None), (2, 3, encode(0), 1, 3, None)],
    )
    _write(
        root / "delta_0000003_0000003_0002" / "bucket_00000",
        [(0, 3, encode(0, 2), 0, 3, (30, "s"))],
    )
    lab.session.metastore.seed_write_id("default", table, 4)
    assert lab.rows(table, "id") == [(2,), (20,), (3,), (30,)]
    entry = lab.compact(table, "minor")
    assert entry.state == "succeeded"
    files = lab.files(table)
    suffix = f"0000003_0000003_v{entry.txnid:07d}/bucket_00000"
    assert files[f"delta_{suffix}"].keys == [(3, encode(0), 0), (3, encode(0, 2), 0)]
    assert files[f"delete_delta_{suffix}"].keys == [(1, encode(0), 0)]
    assert lab.rows(table, "id") == [(2,), (20,), (3,), (30,)]
