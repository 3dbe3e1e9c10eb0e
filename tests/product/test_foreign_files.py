"""Files of other writers that cannot be read, and such that can."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyorc
import pytest

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
    """A delta of two write ids, with a note of its writer's beside the file."""
    delta = lab.root(table) / "delta_0000002_0000003"
    events = [(0, w, encode(0), i, w, (10 * w + i, "s")) for w in (2, 3) for i in range(2)]
    _write(delta / "bucket_00000", events)
    lab.session.metastore.seed_write_id("default", table, 4)
    return delta / "bucket_00000"


def _note(file: Path, *lengths: int) -> None:
    text = b"".join(length.to_bytes(8, "big") for length in lengths)
    file.with_name(file.name + "_flush_length").write_bytes(text)


def test_a_streaming_file_that_is_complete_is_read(lab: Lab, table: str) -> None:
    file = _streamed(lab, table)
    _note(file, 0, 100, file.stat().st_size)
    assert lab.rows(table, "id") == [(1,), (2,), (20,), (21,), (30,), (31,)]


@pytest.mark.parametrize("lengths", [(0, 100), (), (0, 10**9)])
def test_a_streaming_file_that_is_still_written_is_refused(
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
    """Their bucket property is the bare bucket id."""
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
