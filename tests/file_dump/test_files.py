"""Tests of the look into files: what their names show, and what pyorc reads in them."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import pytest

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.file_dump.description import FileDescription, describe_file
from acidsql.file_dump.events import Event, read_events
from acidsql.file_dump.finding import find_files
from acidsql.file_dump.places import describe_files
from acidsql.format.acid_metadata import AcidStats
from acidsql.storage.local_files import LocalFiles
from acidsql.storage.pyorc_files import count_events
from tests.golden.golden import TABLES

_FILES = LocalFiles()


def place(table: str, *below: str) -> str:
    return "/".join([f"file:{TABLES / table}", "data", *below])


def test_files_are_found_with_what_their_paths_tell() -> None:
    found = find_files(_FILES, place("partition_update_delete"))
    told = [
        (f.partition, f.directory.name if f.directory else None, f.name, f.bucket) for f in found
    ]
    assert told == [
        ("p=x", "delete_delta_0000003_0000003_0000", "bucket_00000_0", 0),
        ("p=x", "delete_delta_0000005_0000005_0000", "bucket_00000_0", 0),
        ("p=x", "delta_0000001_0000001_0000", "bucket_00000_0", 0),
        ("p=x", "delta_0000002_0000002_0000", "bucket_00000_0", 0),
        ("p=x", "delta_0000003_0000003_0001", "bucket_00000_0", 0),
        ("p=x", "delta_0000005_0000005_0001", "bucket_00000_0", 0),
        ("p=y", "delta_0000002_0000002_0000", "bucket_00000_0", 0),
        ("p=z", "delete_delta_0000004_0000004_0000", "bucket_00000_0", 0),
        ("p=z", "delta_0000002_0000002_0000", "bucket_00000_0", 0),
    ]


def test_one_file_is_found_with_its_directory() -> None:
    (found,) = find_files(_FILES, place("update", "delta_0000001_0000001_0000", "bucket_00000_0"))
    assert found.directory is not None
    assert (found.directory.max_write_id, found.bucket) == (1, 0)
    with pytest.raises(FileNotFoundError, match="no file or directory"):
        find_files(_FILES, place("update", "delta_0000001_0000001_0000", "bucket_00001"))


def test_original_files_have_no_directory() -> None:
    found = find_files(_FILES, place("originals_dml"))
    originals = [(one.name, one.bucket) for one in found if one.directory is None]
    assert originals == [("000000_0", 0), ("000000_0_copy_1", 0), ("000000_0_copy_2", 0)]


def test_a_file_is_described() -> None:
    (found,) = find_files(_FILES, place("update", "delete_delta_0000003_0000003_0000"))
    one = describe_file(_FILES, found)
    assert (one.rows, one.compression, one.writer, one.row_group) == (
        1,
        "zlib",
        "ORC Java 2.1.2",
        10_000,
    )
    assert one.metadata == {
        "hive.acid.key.index": b"1,536870912,1;",
        "hive.acid.stats": b"0,0,1",
        "hive.acid.version": b"2",
    }
    assert one.events == AcidStats(0, 0, 1)
    assert [(s.rows, s.last_key) for s in one.stripes] == [(1, (1, 536870912, 1))]
    statistics = {c.column: (c.type, c.values, c.minimum, c.maximum) for c in one.columns}
    assert statistics["rowId"] == ("bigint", 1, 1, 1)
    assert statistics["row.id"] == ("int", 0, None, None)


def test_statistics_of_stripes_follow_those_of_the_file() -> None:
    found = find_files(_FILES, place("stripes_delete_spanning", "delta_0000001_0000001_0000"))
    (one,) = describe_files(_FILES, found)
    assert isinstance(one, FileDescription)
    own = [c for c in one.columns if c.column == "rowId"]
    assert [c.stripe for c in own] == [None, 0, 1, 2]
    assert [(c.minimum, c.maximum) for c in own[1:]] == [
        (before, stripe.last_key[2])
        for before, stripe in zip((0, *_ends(one)), one.stripes, strict=False)
        if stripe.last_key
    ]
    assert own[0].values == sum(c.values for c in own[1:]) == one.rows == 6000


def _ends(one: FileDescription) -> list[int]:
    """Return the first row id after each stripe."""
    return [stripe.last_key[2] + 1 for stripe in one.stripes if stripe.last_key]


def test_events_have_row_ids_and_values() -> None:
    (found,) = find_files(_FILES, place("update", "delta_0000001_0000001_0000"))
    events = list(read_events(_FILES, found, 1))
    assert events == [
        Event(
            operation="insert",
            write_id=1,
            bucket=0,
            statement=0,
            row_id=0,
            current_write_id=1,
            row='{"id": 1, "s": "a"}',
        )
    ]
    (found,) = find_files(_FILES, place("update", "delete_delta_0000003_0000003_0000"))
    (event,) = read_events(_FILES, found, None)
    assert (event.operation, event.write_id, event.row_id, event.row) == ("delete", 1, 1, None)


def test_values_that_json_has_not_are_texts() -> None:
    (found,) = find_files(_FILES, place("types_primitive", "delta_0000002_0000002_0000"))
    (event,) = read_events(_FILES, found, None)
    assert event.row == (
        '{"i": 2, "ti": -128, "si": -32768, "bi": -9223372036854775808, "f": -1.5, "d": "nan", '
        '"b": false, "s": "", "c": "    ", "v": "", "bin": "", "dt": "1970-01-01", '
        '"ts": "1970-01-01 00:00:00", "n": "-0.0000000001", "n2": "-999"}'
    )


@pytest.mark.parametrize("table", sorted(t.name for t in TABLES.iterdir()))
def test_all_files_of_hive_are_read(table: str) -> None:
    for found in find_files(_FILES, place(table)):
        if table == "insert_only_text":
            with pytest.raises(FormatError, match="Not an ORC file"):
                describe_file(_FILES, found)
            continue
        one = describe_file(_FILES, found)
        assert len(list(read_events(_FILES, found, None))) == one.rows
        if one.events is not None:
            assert sum(one.events) == one.rows == count_events(_FILES, found.path, found.size)


@pytest.mark.parametrize("length", [0, 100, -1])
def test_a_damaged_file_is_named(tmp_path: Path, length: int) -> None:
    copy = tmp_path / "bucket_00000"
    whole = TABLES / "update" / "data" / "delta_0000001_0000001_0000" / "bucket_00000_0"
    copy.write_bytes(whole.read_bytes()[:length])
    (found,) = find_files(_FILES, f"file:{copy}")
    with pytest.raises(FormatError, match=f"file:{copy} cannot be read by pyorc") as raised:
        describe_file(_FILES, found)
    assert raised.value.condition == "FAILED_READ_FILE"
    with pytest.raises(FormatError, match="bucket_00000 cannot be read by pyorc"):
        list(read_events(_FILES, found, None))


def test_damaged_metadata_are_named(tmp_path: Path) -> None:
    from acidsql.format.orc_tail import append_metadata  # noqa: PLC0415 - only for this test

    whole = TABLES / "update" / "data" / "delta_0000001_0000001_0000" / "bucket_00000_0"
    content = whole.read_bytes()
    damaged = content + append_metadata(content, len(content), {"hive.acid.stats": b"three"})
    (tmp_path / "bucket_00000").write_bytes(damaged)
    (found,) = find_files(_FILES, f"file:{tmp_path}")
    with pytest.raises(FormatError, match=f"file:{tmp_path}/bucket_00000: b'three'") as raised:
        describe_file(_FILES, found)
    assert raised.value.condition == "INVALID_ACID_STATS"


def test_a_file_that_is_still_written_is_read_to_its_noted_length(tmp_path: Path) -> None:
    source = TABLES / "update" / "data" / "delta_0000001_0000001_0000" / "bucket_00000_0"
    directory = tmp_path / "delta_0000001_0000009"
    directory.mkdir()
    shutil.copy(source, directory / "bucket_00000")
    size = source.stat().st_size
    with (directory / "bucket_00000").open("ab") as stream:
        stream.write(b"half a stripe")
    (directory / "bucket_00000_flush_length").write_bytes(size.to_bytes(8, "big"))
    (found,) = find_files(_FILES, f"file:{tmp_path}")
    assert (found.size, describe_file(_FILES, found).rows) == (size, 3)


def test_without_pyorc_its_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyorc", None)
    (found,) = find_files(_FILES, place("update", "delta_0000001_0000001_0000"))
    with pytest.raises(AcidAnalysisError, match=r"pip install 'acidsql\[files\]'") as raised:
        describe_file(_FILES, found)
    assert raised.value.condition == "PYORC_MISSING"
