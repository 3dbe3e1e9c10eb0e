"""ALTER TABLE … RENAME TO and TBLPROPERTIES."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from tests.product.conditions import condition

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.mark.slow
def test_a_renamed_table_keeps_rows_write_ids_and_compactions(lab: Lab) -> None:
    t = lab.create("v int", partitioned="p int", values="(1, 1), (2, 2)")
    lab.sql(f"UPDATE {t} SET v = 20 WHERE v = 2")
    root, rows = lab.root(t), lab.rows(t, "v, p, row__id")
    lab.sql(f"ALTER TABLE {t} RENAME TO {t}_new")
    assert condition(lab, f"SELECT * FROM {t}") == "TABLE_OR_VIEW_NOT_FOUND"
    assert not root.exists()
    assert lab.root(f"{t}_new") == root.with_name(f"{t}_new")
    assert lab.rows(f"{t}_new", "v, p, row__id") == rows
    lab.insert(f"{t}_new", "(3, 1), (4, 4)")
    lab.compact(f"{t}_new", "major", "p = 1")
    assert lab.rows(f"{t}_new", "v, row__id.writeid") == [(1, 1), (20, 2), (3, 4), (4, 4)]
    lab.sql(f"CREATE TABLE {t} (other string) {ACID}")
    assert lab.rows(t) == []


def test_a_table_goes_to_another_database_and_its_own_place_stays(lab: Lab, tmp_path: Path) -> None:
    lab.sql("CREATE DATABASE renamed_into")
    lab.sql(f"CREATE TABLE placed (v int) {ACID} LOCATION '{tmp_path}/placed'")
    lab.insert("placed", "(1)")
    lab.sql("ALTER TABLE placed RENAME TO renamed_into.placed_too")
    assert lab.rows("renamed_into.placed_too") == [(1,)]
    assert lab.root("renamed_into.placed_too") == tmp_path / "placed"
    lab.sql("ALTER TABLE renamed_into.placed_too RENAME TO again")
    assert lab.sql("SHOW TABLES IN renamed_into") == [("renamed_into", "again", False)]
    lab.sql("DROP DATABASE renamed_into CASCADE")


def test_names_that_are_taken(lab: Lab) -> None:
    t = lab.create("v int", values="(1)")
    u = lab.create("v int", values="(2)")
    lab.sql(f"CREATE TABLE {t}_plain (v int) USING orc")
    lab.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    before = lab.state(t), lab.state(u)
    for name in (u, f"{t}_plain", f"{t}_view", t):
        text = f"ALTER TABLE {t} RENAME TO {name}"
        assert condition(lab, text) == "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert condition(lab, f"ALTER TABLE {t} RENAME TO nowhere.x") == "SCHEMA_NOT_FOUND"
    assert condition(lab, f"ALTER TABLE {t}_view RENAME TO x") == "EXPECT_TABLE_NOT_VIEW"
    (lab.root(t).parent / f"{t}_files").mkdir()
    (lab.root(t).parent / f"{t}_files" / "x").touch()
    assert condition(lab, f"ALTER TABLE {t} RENAME TO {t}_files") == "PATH_ALREADY_EXISTS"
    assert (lab.state(t), lab.state(u)) == before
    for text in (f"TABLE {t}_plain", f"VIEW {t}_view"):
        lab.sql(f"DROP {text}")


def test_properties_are_set_and_unset(lab: Lab) -> None:
    t = lab.create("v int", properties={"a": "1"}, values="(1)")
    lab.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('a' = '2', 'b.c' = 'it''s', comment = 'hello')")
    lab.sql(
        f"ALTER TABLE {t} SET TBLPROPERTIES ('transactional' = 'TRUE', 'orc.compress'='SNAPPY')"
    )
    properties = dict(lab.sql(f"SHOW TBLPROPERTIES {t}"))
    assert properties.pop("transactional").lower() == "true"
    assert properties == {
        "a": "2",
        "b.c": "it's",
        "comment": "hello",
        "orc.compress": "SNAPPY",
    }
    lab.insert(t, "(2)")
    codecs = {path.partition("/")[0]: file.codec for path, file in lab.files(t).items()}
    assert codecs == {
        "delta_0000001_0000001_0000": "ZSTD",
        "delta_0000004_0000004_0000": "SNAPPY",
    }
    lab.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('a', 'orc.compress', 'never.set')")
    lab.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES IF EXISTS ('b.c', comment)")
    assert [key for key, _ in lab.sql(f"SHOW TBLPROPERTIES {t}")] == ["transactional"]


def test_what_a_table_is_made_for_cannot_change(lab: Lab) -> None:
    t = lab.create("v int", values="(1)")
    before = lab.session.metastore.table("default", t), lab.state(t)
    for text, expected in {
        "SET TBLPROPERTIES ('transactional' = 'false')": "TABLE_PROPERTY",
        "SET TBLPROPERTIES ('TRANSACTIONAL' = 'false')": "TABLE_PROPERTY",
        "SET TBLPROPERTIES ('transactional_properties' = 'insert_only')": "TABLE_PROPERTY",
        "SET TBLPROPERTIES ('bucketing_version' = '1')": "TABLE_PROPERTY",
        "SET TBLPROPERTIES ('EXTERNAL' = 'true')": "TABLE_PROPERTY",
        "SET TBLPROPERTIES ('orc.nope' = '1')": "TABLE_PROPERTY",
        "UNSET TBLPROPERTIES ('transactional')": "TABLE_PROPERTY",
        "SET LOCATION '/tmp/x'": "SET_LOCATION",
        "PARTITION (p = 1) SET LOCATION '/tmp/x'": "SET_LOCATION",
    }.items():
        assert condition(lab, f"ALTER TABLE {t} {text}") == f"UNSUPPORTED_FEATURE.{expected}", text
    text = f"ALTER TABLE {t} SET TBLPROPERTIES ('orc.compress' = 'lzo')"
    assert condition(lab, text) == "INVALID_TABLE_PROPERTY"
    assert (lab.session.metastore.table("default", t), lab.state(t)) == before


def test_tables_of_sparks_own_catalog_are_altered_by_spark(lab: Lab) -> None:
    lab.sql("CREATE TABLE altered_plain (v int) USING parquet")
    for text in ("ADD COLUMNS (n int)", "SET TBLPROPERTIES ('a'='b')", "RENAME TO altered_other"):
        lab.sql(f"ALTER TABLE altered_plain {text}")
    assert lab.spark.table("altered_other").columns == ["v", "n"]
    assert condition(lab, "ALTER TABLE altered_nowhere ADD COLUMNS (n int)") == (
        "TABLE_OR_VIEW_NOT_FOUND"
    )
    lab.sql("DROP TABLE altered_other")


def test_location_of_a_renamed_table_is_its_own(lab: Lab) -> None:
    t = lab.create("v int", values="(1)")
    lab.sql(f"ALTER TABLE {t} RENAME TO {t}_there")
    assert acidsql.location(lab.spark, f"{t}_there").endswith(f"/{t}_there")
