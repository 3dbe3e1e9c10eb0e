"""Databases and views: created, replaced, listed and dropped, in one session and in another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import ParseException

from tests.product.test_catalog_statements import ACID, answer, condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def test_databases(lab: Lab, other: Lab, tmp_path: Path) -> None:
    place = tmp_path / "it's"
    location = str(place).replace("'", "\\'")
    lab.sql(f"CREATE DATABASE shop COMMENT 'it\\'s' LOCATION '{location}'")
    assert condition_of(lab.frame, "CREATE DATABASE shop") == "SCHEMA_ALREADY_EXISTS"
    assert answer(lab.frame("CREATE DATABASE IF NOT EXISTS shop")) == ("struct<>", [])
    assert ("shop",) in lab.sql("SHOW DATABASES")
    described = dict(lab.sql("DESCRIBE DATABASE shop"))
    assert (described["Comment"], described["Location"]) == ("it's", f"file:{place}")
    lab.sql(f"CREATE TABLE shop.sold (id INT) {ACID}")
    lab.sql("INSERT INTO shop.sold VALUES (1)")
    assert lab.root("shop.sold") == place / "sold"
    # The other session has not used acidsql yet.
    other.sql("USE shop")
    assert other.sql("SHOW TABLES LIKE 'sold'") == [("shop", "sold", False)]
    assert other.sql("SELECT * FROM sold") == [(1,)]
    assert lab.spark.catalog.currentDatabase() == "default"
    other.sql(f"CREATE TABLE bought {ACID} AS SELECT id + 1 AS id FROM sold")
    other.sql("CREATE VIEW both AS SELECT * FROM sold UNION ALL SELECT * FROM bought")
    assert lab.rows("shop.both") == [(1,), (2,)]
    for text in ("DROP DATABASE shop", "DROP DATABASE shop RESTRICT"):
        assert condition_of(lab.frame, text) == "SCHEMA_NOT_EMPTY"
    assert lab.rows("shop.sold") == [(1,)]
    lab.sql(
        f"CREATE TABLE shop.away (id INT) STORED AS ORC LOCATION '{tmp_path / 'away'}' "
        "TBLPROPERTIES ('transactional'='true')"
    )
    lab.sql("DROP DATABASE shop CASCADE")
    assert not (tmp_path / "away").exists()
    assert not place.exists()
    assert ("shop",) not in lab.sql("SHOW DATABASES")
    assert lab.session.metastore.databases() == ("default",)
    condition = condition_of(lab.frame, f"CREATE TABLE shop.sold (id INT) {ACID}")
    assert condition == "SCHEMA_NOT_FOUND"
    lab.sql("CREATE SCHEMA shop")
    assert lab.sql("SHOW TABLES IN shop") == []
    lab.sql("DROP SCHEMA shop RESTRICT")
    assert lab.sql("DROP DATABASE IF EXISTS shop") == []


@pytest.mark.slow
def test_views_are_created_replaced_and_dropped(lab: Lab) -> None:
    t = lab.create("id INT COMMENT 'i', v STRING", values="(1, 'a'), (2, 'b')")
    view = f"{t}_view"
    lab.sql(f"CREATE VIEW {view} AS SELECT id, v AS w FROM {t} WHERE id > 1")
    assert lab.rows(view) == [(2, "b")]
    assert lab.sql(f"DESCRIBE {view}") == [("id", "int", "i"), ("w", "string", None)]
    assert lab.sql(f"SHOW COLUMNS IN {view}") == [("id",), ("w",)]
    assert lab.sql(f"SHOW TABLES LIKE '{t}*'") == [("default", t, False), ("default", view, False)]
    for query in ("SELECT 1 AS one", f"SELECT * FROM {t}"):
        condition = condition_of(lab.frame, f"CREATE VIEW {view} AS {query}")
        assert condition == "TABLE_OR_VIEW_ALREADY_EXISTS"
        assert lab.sql(f"CREATE VIEW IF NOT EXISTS {view} AS {query}") == []
    assert lab.rows(view) == [(2, "b")]
    lab.sql(f"CREATE OR REPLACE VIEW {view} (x, y) AS SELECT id + 1, v FROM {t}")
    assert answer(lab.frame(f"SELECT * FROM {view} ORDER BY x")) == (
        "struct<x:int,y:string>",
        [(2, "a"), (3, "b")],
    )
    ((text,),) = lab.sql(f"SHOW CREATE TABLE {view}")
    lab.sql(f"DROP VIEW {view}")
    lab.sql(text)
    assert lab.rows(view) == [(2, "a"), (3, "b")]
    assert lab.sql(f"SHOW CREATE TABLE {view}") == [(text,)]
    lab.sql(
        f"CREATE OR REPLACE VIEW {view} (x COMMENT 'it\\'s own', y, z) COMMENT 'a view' "
        f"TBLPROPERTIES ('k' = 'v') AS SELECT id, v, id FROM {t}"
    )
    lab.sql(f"CREATE TEMPORARY VIEW {view}_temp (x COMMENT 'own', y) AS SELECT id, id FROM {t}")
    described = [("x", "int", "it's own"), ("y", "string", None), ("z", "int", "i")]
    ((text,),) = lab.sql(f"SHOW CREATE TABLE {view}")
    for _ in range(2):
        assert lab.sql(f"DESCRIBE {view}") == described
        assert ("Comment", "a view", "") in lab.sql(f"DESCRIBE EXTENDED {view}")
        assert lab.sql(f"SHOW TBLPROPERTIES {view}('k')") == [("k", "v")]
        assert lab.frame(f"SELECT x FROM {view}").schema["x"].metadata == {"comment": "it's own"}
        assert lab.rows(view) == [(1, "a", 1), (2, "b", 2)]
        lab.sql(f"DROP VIEW {view}")
        lab.sql(text)
    assert lab.sql(f"DESCRIBE {view}_temp") == [("x", "int", "own"), ("y", "int", "i")]
    lab.sql(f"DROP VIEW {view}_temp")
    with pytest.raises(ParseException, match=r"CREATE OR REPLACE VIEW .* \(x INT\)"):
        lab.sql(f"CREATE OR REPLACE VIEW {view} (x INT) AS SELECT id FROM {t}")
    lab.sql(f"CREATE OR REPLACE VIEW {view} AS SELECT 7 AS seven")
    assert lab.rows(view) == [(7,)]
    assert condition_of(lab.frame, f"DROP TABLE {view}") == "EXPECT_TABLE_NOT_VIEW"
    assert condition_of(lab.frame, f"DROP VIEW {t}") == "EXPECT_VIEW_NOT_TABLE"
    replace = f"CREATE OR REPLACE VIEW {t} AS SELECT 1 AS one"
    assert condition_of(lab.frame, replace) == "EXPECT_VIEW_NOT_TABLE"
    lab.sql(f"DROP VIEW {view}")
    assert condition_of(lab.frame, f"SELECT * FROM {view}") == "TABLE_OR_VIEW_NOT_FOUND"
    assert lab.sql(f"DROP VIEW IF EXISTS {view}") == []
    assert lab.rows(t) == [(1, "a"), (2, "b")]


def test_a_view_of_sparks_can_be_replaced_by_one_of_acid_tables(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    view = f"{t}_view"
    lab.sql(f"CREATE VIEW {view} AS SELECT 0 AS id")
    assert lab.spark.catalog.tableExists(view)
    lab.sql(f"CREATE OR REPLACE VIEW {view} AS SELECT * FROM {t}")
    assert lab.rows(view) == [(1,)]
    assert not lab.spark.catalog.tableExists(view)
    lab.sql(f"DROP VIEW {view}")
    lab.sql(f"CREATE TEMPORARY VIEW {view} AS SELECT id AS i FROM {t}")
    assert lab.sql(f"DESCRIBE {view}") == [("i", "int", None)]
    assert lab.sql(f"SHOW TABLES LIKE '{view}'") == [("", view, True)]
    lab.sql(f"DROP VIEW {view}")
    assert lab.sql(f"SHOW TABLES LIKE '{view}'") == []
