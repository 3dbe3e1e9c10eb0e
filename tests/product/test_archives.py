"""Tests of EXPORT TABLE and IMPORT TABLE."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import AcidSqlError
from acidsql.storage.filesystem import FileSystem

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

_COLUMNS = "id INT COMMENT 'key', v VARCHAR(5), c CHAR(3), d DECIMAL(9,2), t TIMESTAMP"
_VALUE = "'a', 'b', 1.50, timestamp'2024-03-31 02:30:00'"


def _files(place: Path) -> list[str]:
    return sorted(str(p.relative_to(place)) for p in place.rglob("*") if not p.name.startswith("."))


def _refused(lab: Lab, text: str) -> str | None:
    with pytest.raises(AcidSqlError) as caught:
        lab.sql(text)
    return caught.value.getCondition()


@pytest.mark.slow
def test_a_table_without_partitions(lab: Lab, tmp_path: Path) -> None:
    table = lab.create(_COLUMNS, properties={"mine": "1"})
    lab.insert(table, f"(1, {_VALUE}), (2, {_VALUE})")
    lab.sql(f"DELETE FROM {table} WHERE id = 1")
    place = tmp_path / "archive"
    assert lab.sql(f"EXPORT TABLE {table} TO '{place}'") == [(1,)]
    assert _files(place) == ["_metadata", "data", "data/000000_0"]
    metadata = json.loads((place / "_metadata").read_text())
    assert metadata["version"] == "0.2"
    assert metadata["partitions"] == []
    assert lab.sql(f"IMPORT TABLE {table}_new FROM '{place}'") == [(1, 1)]
    assert lab.rows(f"{table}_new") == lab.rows(table)
    assert lab.rows(f"{table}_new", "row__id.writeid, row__id.rowid, id") == [(1, 0, 2)]
    assert lab.directories(f"{table}_new") == ["delta_0000001_0000001_0000"]
    made = lab.session.metastore.table("default", f"{table}_new")
    old = lab.session.metastore.table("default", table)
    assert [(c.name, c.type, c.comment) for c in made.columns] == [
        (c.name, c.type.lower(), c.comment) for c in old.columns
    ]
    assert made.properties == {**old.properties, "bucketing_version": "2"}
    lab.sql(f"UPDATE {table}_new SET v = 'x'")
    assert lab.rows(f"{table}_new", "v, id") == [("x", 2)]
    # Into the table itself, once it is empty.
    assert _refused(lab, f"IMPORT TABLE {table} FROM '{place}'") == "IMPORT_TARGET_NOT_EMPTY"
    other = lab.create(_COLUMNS)
    assert lab.sql(f"IMPORT TABLE {other} FROM '{place}'") == [(1, 1)]
    assert lab.rows(other) == lab.rows(table)
    assert _refused(lab, f"EXPORT TABLE {table} TO '{place}'") == "PATH_ALREADY_EXISTS"
    assert _refused(lab, f"EXPORT TABLE {table} TO '{lab.root(table)}/x'") == "LOCATION_IN_USE"


@pytest.mark.slow
def test_partitions(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT", partitioned="p INT, q STRING")
    lab.insert(table, "(1, 1, 'x/y'), (2, 1, NULL), (3, 2, 'z'), (4, 3, 'gone')")
    lab.sql(f"DELETE FROM {table} WHERE id = 4")
    place = tmp_path / "all"
    assert lab.sql(f"EXPORT TABLE {table} TO '{place}'") == [(3,)]
    assert [f for f in _files(place) if f.endswith("_0")] == [
        "p=1/q=__HIVE_DEFAULT_PARTITION__/000000_0",
        "p=1/q=x%2Fy/000000_0",
        "p=2/q=z/000000_0",
    ]
    lab.sql(f"IMPORT TABLE {table}_new FROM '{place}' LOCATION '{tmp_path}/elsewhere'")
    assert lab.rows(f"{table}_new") == lab.rows(table)
    assert lab.root(f"{table}_new") == tmp_path / "elsewhere"
    assert lab.sql(f"EXPORT TABLE {table} PARTITION (p = 1) TO '{tmp_path}/some'") == [(2,)]
    other = lab.create("id INT", partitioned="p INT, q STRING")
    one = f"IMPORT TABLE {other} PARTITION (p = 1, q = 'x/y') FROM '{tmp_path}/some'"
    assert lab.sql(one) == [(1, 1)]
    assert lab.rows(other) == [(1, 1, "x/y")]
    assert _refused(lab, one) == "PARTITIONS_ALREADY_EXIST"
    missing = f"IMPORT TABLE {other} PARTITION (p = 2, q = 'z') FROM '{tmp_path}/some'"
    assert _refused(lab, missing) == "PARTITIONS_NOT_FOUND"
    nowhere = f"EXPORT TABLE {table} PARTITION (p = 9) TO '{tmp_path}/none'"
    assert _refused(lab, nowhere) == "PARTITIONS_NOT_FOUND"


@pytest.mark.parametrize("partitioned", ["", "p INT"])
def test_files_of_a_bucketed_table_have_its_numbers(
    lab: Lab, tmp_path: Path, partitioned: str
) -> None:
    table = lab.create(
        "id INT, v STRING", partitioned=partitioned, clustered="(v, id) INTO 3 BUCKETS"
    )
    p = ", id % 2" if partitioned else ""
    lab.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), concat('v', id){p} FROM range(40)")
    lab.sql(f"DELETE FROM {table} WHERE id % 5 = 0")
    place = tmp_path / "archive"
    assert lab.sql(f"EXPORT TABLE {table} TO '{place}'") == [(32,)]
    directories = ["p=0", "p=1"] if partitioned else ["data"]
    names = [f"{d}/{name}" for d in directories for name in ("000000_0", "000001_0", "000002_0")]
    assert [f for f in _files(place) if f.endswith("_0")] == names
    lab.sql(f"IMPORT TABLE {table}_new FROM '{place}'")
    before = lab.rows(table)
    assert lab.rows(f"{table}_new") == before
    assert lab.sql(f"CHECK TABLE {table}_new FULL") == []
    lab.sql(f"UPDATE {table}_new SET v = 'x' WHERE id = 7")
    assert lab.sql(f"SELECT v FROM {table}_new WHERE id = 7") == [("x",)]
    made = lab.session.metastore.table("default", f"{table}_new")
    assert (made.bucket_columns, made.num_buckets) == (("v", "id"), 3)
    for directory in directories:  # as if tasks had numbered them
        files = [place / directory / f"00000{i}_0" for i in range(3)]
        files[0].rename(place / "moved")
        files[1].rename(files[0])
        (place / "moved").rename(files[1])
    lab.sql(f"IMPORT TABLE {table}_renumbered FROM '{place}'")
    assert lab.rows(f"{table}_renumbered") == before
    assert lab.sql(f"CHECK TABLE {table}_renumbered FULL") == []
    one = lab.create("id INT, v STRING", partitioned=partitioned, clustered="(id) INTO 2 BUCKETS")
    assert _refused(lab, f"IMPORT TABLE {one} FROM '{place}'") == "IMPORT_SCHEMA_MISMATCH"


def test_instants_are_not_exported(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT, s STRUCT<a: TIMESTAMP_LTZ>")
    assert _refused(lab, f"EXPORT TABLE {table} TO '{tmp_path}/new'") == "UNSUPPORTED_DATATYPE"


def test_empty_and_insert_only_tables(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT")
    assert lab.sql(f"EXPORT TABLE {table} TO '{tmp_path}/empty'") == [(0,)]
    assert lab.sql(f"IMPORT TABLE {table}_new FROM '{tmp_path}/empty'") == [(0, 0)]
    assert lab.rows(f"{table}_new") == []
    only = lab.create("id INT", properties={"transactional_properties": "insert_only"})
    lab.insert(only, "(1)")
    assert lab.sql(f"EXPORT TABLE {only} TO '{tmp_path}/only'") == [(1,)]
    lab.sql(f"IMPORT TABLE {only}_new FROM '{tmp_path}/only'")
    assert lab.rows(f"{only}_new") == [(1,)]
    assert lab.session.metastore.table("default", f"{only}_new").insert_only


def test_what_is_refused(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT", values="(1)")
    place = tmp_path / "archive"
    lab.sql(f"EXPORT TABLE {table} TO '{place}'")
    # Its own name is that of a table which has rows.
    assert _refused(lab, f"IMPORT FROM '{place}'") == "IMPORT_TARGET_NOT_EMPTY"
    other = lab.create("id BIGINT")
    assert _refused(lab, f"IMPORT TABLE {other} FROM '{place}'") == "IMPORT_SCHEMA_MISMATCH"
    (place / "data" / "strange").write_text("x")
    assert _refused(lab, f"IMPORT TABLE {table}_new FROM '{place}'") == "INVALID_ARCHIVE"
    (place / "data" / "strange").unlink()
    whole = (place / "_metadata").read_text()
    for text in (whole[:100], "{}", whole.replace('"0.2"', '"1.0"'), '{"version":"0.2"}', "[]"):
        (place / "_metadata").write_text(text)
        assert _refused(lab, f"IMPORT TABLE {table}_new FROM '{place}'") == "INVALID_ARCHIVE"
    plain = whole.replace('\\"transactional\\":\\"true\\"', '\\"transactional\\":\\"no\\"')
    (place / "_metadata").write_text(plain)
    condition = _refused(lab, f"IMPORT TABLE {table}_new FROM '{place}'")
    assert condition == "NOT_A_TRANSACTIONAL_TABLE"
    assert lab.session.metastore.find_table("default", f"{table}_new") is None
    empty = lab.create("id INT")
    lab.sql(f"IMPORT TABLE {empty} FROM '{place}'")
    assert lab.rows(empty) == [(1,)]


def test_nothing_is_left_of_an_export_or_import_that_fails(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    table = lab.create("id INT", values="(1)")
    lab.sql(f"EXPORT TABLE {table} TO '{tmp_path}/archive'")
    rename = FileSystem.rename

    def fail(files: FileSystem, source: str, target: str) -> None:
        if target.endswith(("/data", "/delta_0000001_0000001_0000")):
            raise OSError("no space left")
        rename(files, source, target)

    monkeypatch.setattr(FileSystem, "rename", fail)
    with pytest.raises(OSError, match="no space left"):
        lab.sql(f"EXPORT TABLE {table} TO '{tmp_path}/other'")
    assert not (tmp_path / "other").exists()
    with pytest.raises(OSError, match="no space left"):
        lab.sql(f"IMPORT TABLE {table}_new FROM '{tmp_path}/archive'")
    assert lab.session.metastore.find_table("default", f"{table}_new") is None
    assert not (lab.root(table).parent / f"{table}_new").exists()
