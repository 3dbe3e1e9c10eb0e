"""Tests of damaged files and directories: a clear error, or the rows that Hive reads."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

from acidsql.bridge.spark_versions import minor_version
from acidsql.errors import FormatError
from acidsql.format.bucket_codec import encode
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

DELTA = "delta_0000001_0000001_0000"
DELETE_DELTA = "delete_delta_0000002_0000002_0000"
SELECT = "SELECT id FROM {t} ORDER BY id"
STATEMENTS = (SELECT, "UPDATE {t} SET s = 'u'", "ALTER TABLE {t} COMPACT 'major'")


@pytest.fixture(scope="module")
def written(spark: SparkSession) -> Path:
    """Return the directory of a table with rows 1 and 3; row 2 is deleted."""
    lab = Lab(spark)
    made = lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")
    lab.sql(f"DELETE FROM {made} WHERE id = 2")
    lab.insert(made, "(3, 'c')")
    return lab.root(made)


@pytest.fixture
def table(lab: Lab, written: Path) -> str:
    """Return a table with a copy of its files."""
    made = lab.create("id INT, s STRING")
    shutil.copytree(written, lab.root(made), dirs_exist_ok=True)
    lab.session.metastore.seed_write_id("default", made, 4)
    return made


def _file(lab: Lab, table: str, directory: str) -> Path:
    return lab.root(table) / directory / "bucket_00000"


def _cut(content: bytes) -> bytes:
    return content[:-5]


def _zeros(content: bytes) -> bytes:
    return bytes(len(content))


def _text(_: bytes) -> bytes:
    return b"id,s\n1,a\n"


@pytest.mark.sample(3)
@pytest.mark.parametrize("damage", [_cut, _zeros, _text])
@pytest.mark.parametrize("directory", [DELTA, DELETE_DELTA])
def test_a_damaged_end_of_a_file_is_named(
    lab: Lab, table: str, directory: str, damage: Callable[[bytes], bytes]
) -> None:
    file = _file(lab, table, directory)
    file.write_bytes(damage(file.read_bytes()))
    before = lab.tree(table)
    for statement in STATEMENTS:
        with pytest.raises(FormatError, match=f"{directory}/bucket_00000 cannot be read") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "INVALID_ORC_TAIL"
    assert lab.tree(table) == before


@pytest.mark.parametrize("directory", [DELTA, DELETE_DELTA])
def test_damaged_rows_fail_the_query_and_are_named(lab: Lab, table: str, directory: str) -> None:
    """Check that Spark reports damaged rows; it never skips a file, whatever its settings are."""
    named = f"{directory}/bucket_00000"
    if directory == DELTA and minor_version(lab.spark.version) < (4, 0):
        named += "|Buffer size too small"  # Spark 3.5 does not name the file
    file = _file(lab, table, directory)
    content = bytearray(file.read_bytes())
    with file.open("rb") as stream:
        stripe = next(iter(pyorc.Reader(stream).iter_stripes()))
        start = stripe.bytes_offset + stripe.bytes_length // 2
        content[start : stripe.bytes_offset + stripe.bytes_length] = b"\xff" * (
            stripe.bytes_offset + stripe.bytes_length - start
        )
    file.write_bytes(content)
    before = lab.tree(table)
    for statement in STATEMENTS:
        with pytest.raises(Exception, match=named):
            lab.sql(statement.format(t=table))
    assert lab.tree(table) == before


@pytest.mark.parametrize("directory", [DELTA, DELETE_DELTA])
def test_a_file_that_lost_its_content_is_named(lab: Lab, table: str, directory: str) -> None:
    """Check a file as a power failure may leave it: of one write id, with a version file.

    Hive reads no rows there; of an empty delete file it fails, or reads deleted rows, depending on
    its reader.
    """
    _file(lab, table, directory).write_bytes(b"")
    before = lab.tree(table)
    for statement in (*STATEMENTS, "SELECT count(*) FROM {t}"):
        with pytest.raises(FormatError, match=f"{directory}/bucket_00000 has lost its") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "INVALID_ORC_TAIL"
    assert lab.tree(table) == before


def test_an_empty_file_beside_others_is_named(lab: Lab, table: str) -> None:
    (_file(lab, table, DELTA).parent / "bucket_00001").touch()
    with pytest.raises(FormatError, match=f"{DELTA}/bucket_00001 has lost its content"):
        lab.sql(SELECT.format(t=table))


def test_an_empty_file_without_a_version_file_has_no_rows(lab: Lab, table: str) -> None:
    """Check an empty file of an unknown writer."""
    file = _file(lab, table, DELTA)
    file.write_bytes(b"")
    file.with_name("_orc_acid_version").unlink()
    assert lab.sql(SELECT.format(t=table)) == [(3,)]
    lab.sql(f"UPDATE {table} SET s = 'u' WHERE id = 3")
    lab.compact(table, "major")
    assert lab.rows(table) == [(3, "u")]


def test_an_empty_file_of_a_streaming_client_has_no_rows(lab: Lab, table: str) -> None:
    """Check an empty file of several write ids: its writer may be at work on later ones."""
    file = _file(lab, table, DELTA)
    file.write_bytes(b"")
    file.parent.rename(file.parent.with_name("delta_0000001_0000002"))
    assert lab.sql(SELECT.format(t=table)) == [(3,)]


def test_a_delete_file_without_a_byte_is_refused(lab: Lab, table: str) -> None:
    """Check an empty delete file of any writer."""
    file = _file(lab, table, DELETE_DELTA)
    file.write_bytes(b"")
    file.with_name("_orc_acid_version").unlink()
    with pytest.raises(FormatError, match=f"{DELETE_DELTA}/bucket_00000 cannot be read"):
        lab.sql(SELECT.format(t=table))


@pytest.mark.parametrize("content", [b"", bytes(60), b'{"thisFileVersion":"0"'])
def test_damaged_metadata_of_a_base_is_named(lab: Lab, table: str, content: bytes) -> None:
    lab.sql(f"TRUNCATE TABLE {table}")
    (lab.root(table) / "base_0000004" / "_metadata_acid").write_bytes(content)
    for statement in STATEMENTS:
        with pytest.raises(FormatError, match="base_0000004/_metadata_acid is damaged") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "INVALID_BASE_METADATA"


def test_damaged_metadata_of_a_base_that_nobody_sees_is_ignored(lab: Lab, table: str) -> None:
    """Check a TRUNCATE that a power failure cut off, then aborted and cleaned."""
    metastore = lab.session.metastore
    txn_id = metastore.open_txn("ann", "host")
    write_id = metastore.allocate_write_id(txn_id, "default", table)
    base = lab.root(table) / f"base_{write_id:07d}"
    base.mkdir()
    (base / "_metadata_acid").touch()
    assert lab.sql(SELECT.format(t=table)) == [(1,), (3,)]
    metastore.abort_txn(txn_id)
    lab.compact(table, "major")
    assert not base.exists()
    assert lab.sql(SELECT.format(t=table)) == [(1,), (3,)]


def test_damaged_metadata_of_a_base_with_files_is_named(lab: Lab, table: str) -> None:
    """Check a base that may be compacted: its rows are nowhere else."""
    shutil.copytree(lab.root(table) / DELTA, lab.root(table) / "base_0000009")
    (lab.root(table) / "base_0000009" / "_metadata_acid").touch()
    with pytest.raises(FormatError, match="base_0000009/_metadata_acid is damaged"):
        lab.sql(SELECT.format(t=table))


def test_a_file_with_a_foreign_name_is_ignored(lab: Lab, table: str) -> None:
    """Check a foreign file in a directory of files with row ids; Hive ignores it too."""
    file = _file(lab, table, DELTA)
    shutil.copy(file, file.with_name("part-00000.snappy.orc"))
    assert lab.sql(SELECT.format(t=table)) == [(1,), (3,)]
    file.unlink()
    assert lab.sql(SELECT.format(t=table)) == [(3,)]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    "name",
    [
        "delta_abc",
        "delta_5_3",
        "delta_0000001",
        "delta_1_1_1_1",
        "delete_delta_x",
        "base_x",
        "base_-5",
    ],
)
def test_a_directory_with_a_nonsense_name_is_named(lab: Lab, table: str, name: str) -> None:
    shutil.copytree(lab.root(table) / DELTA, lab.root(table) / name)
    for statement in STATEMENTS:
        with pytest.raises(FormatError, match=rf"/{table}, '{name}' starts like") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "INVALID_DIRECTORY_NAME"


def test_a_strange_directory_is_named(lab: Lab, table: str) -> None:
    """Check a directory whose files would be original files, but have other names."""
    shutil.copytree(lab.root(table) / DELTA, lab.root(table) / "deltas")
    with pytest.raises(FormatError, match=f"{table}/deltas/bucket_00000 has no row ids") as caught:
        lab.sql(SELECT.format(t=table))
    assert caught.value.condition == "INVALID_ORIGINAL_FILE_NAME"


def test_a_missing_directory_is_not_an_empty_one(lab: Lab, table: str) -> None:
    shutil.rmtree(lab.root(table))
    for statement in STATEMENTS:
        with pytest.raises(FormatError, match=f"/{table} of default.{table} does not") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "DIRECTORY_NOT_FOUND"
    lab.sql(f"DROP TABLE {table}")


def test_a_missing_partition_is_named_where_it_is_needed(lab: Lab) -> None:
    table = lab.create("id INT", partitioned="p STRING", values="(1, 'x'), (2, 'y/')")
    shutil.rmtree(lab.root(table) / "p=y%2F")
    assert lab.sql(f"SELECT id FROM {table} WHERE p = 'x'") == [(1,)]
    with pytest.raises(FormatError, match=rf"of default.{table}/p=y%2F does not") as caught:
        lab.sql(f"SELECT id FROM {table}")
    assert caught.value.condition == "DIRECTORY_NOT_FOUND"
    lab.sql(f"ALTER TABLE {table} DROP PARTITION (p = 'y/')")
    assert lab.sql(f"SELECT id FROM {table}") == [(1,)]


def _with_postscript(file: Path, field: bytes, value: bytes) -> None:
    content = bytearray(file.read_bytes())
    start = len(content) - 1 - content[-1]
    at = content.index(field, start) + len(field)
    content[at : at + len(value)] = value
    file.write_bytes(content)


def test_a_newer_version_of_orc_is_named(lab: Lab, table: str) -> None:
    file = _file(lab, table, DELTA)
    _with_postscript(file, b"\x22\x02", bytes([2, 0]))
    for statement in STATEMENTS:
        with pytest.raises(FormatError, match=r"bucket_00000 cannot be read: .* 2\.0") as caught:
            lab.sql(statement.format(t=table))
        assert caught.value.condition == "UNSUPPORTED_ORC_VERSION"


def test_a_newer_writer_of_the_same_version_is_read(lab: Lab, table: str) -> None:
    file = _file(lab, table, DELTA)
    _with_postscript(file, b"\x30", bytes([99]))
    assert lab.sql(SELECT.format(t=table)) == [(1,), (3,)]


def test_delete_events_for_rows_that_are_not_there_do_nothing(lab: Lab, table: str) -> None:
    """Check delete events without rows, as Hive's compactor leaves them."""
    assert encode(0) == 536870912
    shutil.rmtree(lab.root(table) / DELTA)
    assert lab.sql(SELECT.format(t=table)) == [(3,)]
