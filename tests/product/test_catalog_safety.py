"""Statements about tables delete only what they made or have to delete."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.injection_points import Point
from acidsql.storage.filesystem import FileSystem
from tests.injection import once
from tests.product.conditions import condition
from tests.product.test_load import orc

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def test_a_table_as_select_needs_an_empty_place(lab: Lab, tmp_path: Path) -> None:
    """It would delete what was there when it fails, and add it to its rows otherwise."""
    t = lab.create("id int", values="(1)")
    place = tmp_path / "kept"
    lab.root(t).rename(place)
    lab.sql(f"DROP TABLE {t}")
    before = sorted(place.rglob("*"))
    located = f"LOCATION '{place}' TBLPROPERTIES ('transactional'='true')"
    for query in ("SELECT 1 AS id", "SELECT id / 0 AS id FROM range(1)"):
        text = f"CREATE TABLE {t} STORED AS ORC {located} AS {query}"
        assert condition(lab, text) == "LOCATION_ALREADY_EXISTS"
    assert sorted(place.rglob("*")) == before
    lab.sql(f"CREATE TABLE {t} (id int) STORED AS ORC {located}")
    assert lab.rows(t) == [(1,)]
    lab.sql(f"DROP TABLE {t}")
    assert not place.exists()


def test_a_table_does_not_adopt_what_lies_in_its_default_place(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    root = lab.root(t)
    kept = root.with_name(f"{t}_kept")
    root.rename(kept)
    lab.sql(f"DROP TABLE {t}")
    kept.rename(root)
    for text in (f"CREATE TABLE {t} (id INT) {ACID}", f"CREATE TABLE {t} {ACID} AS SELECT 2 AS id"):
        assert condition(lab, text) == "LOCATION_ALREADY_EXISTS"
    lab.sql(
        f"CREATE TABLE {t} (id INT) STORED AS ORC LOCATION '{root}' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    assert lab.rows(t) == [(1,)]
    lab.sql(f"DROP TABLE {t}")


def test_two_may_create_a_table_if_there_is_none_at_the_same_time(lab: Lab, other: Lab) -> None:
    t = lab.create("id int")
    lab.sql(f"DROP TABLE {t}")
    text = f"CREATE TABLE IF NOT EXISTS {t} (id INT) {ACID}"

    def create_and_insert() -> None:
        other.sql(text)
        other.sql(f"INSERT INTO {t} VALUES (1)")

    with once(Point.BEFORE_CREATING) as plan:
        plan(create_and_insert)
        assert lab.sql(text) == []
    assert lab.rows(t) == [(1,)]
    lab.sql(f"DROP TABLE {t}")


def test_a_table_as_select_is_not_there_before_it_has_its_rows(lab: Lab, other: Lab) -> None:
    seen = []
    original = FileSystem.rename

    def rename(files: FileSystem, source: str, target: str) -> None:
        seen.append(
            (other.sql("SHOW TABLES LIKE 'ctas_seen'"), condition(other, "SELECT * FROM ctas_seen"))
        )
        original(files, source, target)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FileSystem, "rename", rename)
        lab.sql(f"CREATE TABLE ctas_seen {ACID} AS SELECT 1 AS id")
    assert {repr(found) for found in seen} == {repr(([], "TABLE_OR_VIEW_NOT_FOUND"))}
    assert other.rows("ctas_seen") == [(1,)]
    lab.sql("DROP TABLE ctas_seen")


def test_a_file_that_was_delivered_again_before_the_commit_stays(
    lab: Lab, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id int, s string")
    (file,) = orc(lab, tmp_path, "(50, 'x')")
    (again,) = orc(lab, tmp_path / "again", "(51, 'today')")
    original = FileSystem.rename

    def rename(files: FileSystem, source: str, target: str) -> None:
        again.replace(file)
        original(files, source, target)

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "rename", rename)
        lab.sql(f"LOAD DATA INPATH '{file}' INTO TABLE {t}")
    assert lab.rows(t) == [(50, "x")]
    lab.sql(f"LOAD DATA INPATH '{file}' INTO TABLE {t}")
    assert lab.rows(t) == [(50, "x"), (51, "today")]
    assert list(tmp_path.glob("*.orc")) == []


def test_a_local_file_is_copied_so_that_its_owner_may_write_to_it(lab: Lab, tmp_path: Path) -> None:
    t = lab.create("id int, s string")
    (file,) = orc(lab, tmp_path, "(50, 'x')")
    lab.sql(f"LOAD DATA LOCAL INPATH '{file}' INTO TABLE {t}")
    file.write_bytes(b"")
    assert lab.rows(t) == [(50, "x")]


def test_dropping_a_database_leaves_tables_of_others_below_it(lab: Lab) -> None:
    lab.sql("CREATE DATABASE upper")
    place = Path(lab.session.database_location("upper").removeprefix("file:"))
    lab.sql(f"CREATE TABLE upper.own (id INT) {ACID}")
    lab.sql("INSERT INTO upper.own VALUES (1)")
    lab.sql("CREATE TABLE upper.plain USING orc AS SELECT 1 AS id")
    lab.sql(
        f"CREATE TABLE below (id INT) STORED AS ORC LOCATION '{place}/below' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    lab.sql("INSERT INTO below VALUES (2)")
    assert condition(lab, "DROP DATABASE upper") == "SCHEMA_NOT_EMPTY"
    lab.sql("DROP DATABASE upper CASCADE")
    assert not lab.spark.catalog.databaseExists("upper")
    assert [path.name for path in place.iterdir()] == ["below"]
    assert lab.rows("below") == [(2,)]
    lab.sql("DROP TABLE below")


def test_an_error_after_the_commit_is_not_the_statement_s(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The statement would be run again, and its rows be there twice."""
    t = lab.create("id int", values="(1)")
    original = FileSystem.delete

    def delete(files: FileSystem, path: str) -> None:
        if "_acidsql_staging_" in path:
            raise OSError("no permission")
        original(files, path)

    with monkeypatch.context() as patch:
        patch.setattr(FileSystem, "delete", delete)
        lab.sql(f"INSERT INTO {t} VALUES (2)")
    assert lab.rows(t) == [(1,), (2,)]
