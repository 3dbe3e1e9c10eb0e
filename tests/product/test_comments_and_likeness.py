"""COMMENT ON TABLE and COLUMN, CREATE TABLE LIKE, ALTER VIEW AS."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from acidsql.errors import AcidAnalysisError

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def test_comments_are_set_and_removed(lab: Lab) -> None:
    t = lab.create("id INT, `full name` STRING COMMENT 'old'", partitioned="p INT")
    lab.sql(f"COMMENT ON TABLE {t} IS 'it''s \u00e9'")
    lab.sql(f"COMMENT ON COLUMN {t}.`full name` IS 'new'")
    lab.sql(f"COMMENT ON COLUMN default.{t}.ID IS 'number'")
    table = lab.session.metastore.table("default", t)
    assert table.properties["comment"] == "it's \u00e9"
    assert [(c.name, c.comment) for c in table.columns] == [("id", "number"), ("full name", "new")]
    assert {row[0]: row[2] for row in lab.sql(f"DESCRIBE {t}")[:2]} == {
        "id": "number",
        "full name": "new",
    }
    operations = [row[4] for row in lab.sql(f"DESCRIBE HISTORY {t}")]
    assert operations == ["CHANGE COLUMN", "CHANGE COLUMN", "SET TBLPROPERTIES"]
    lab.sql(f"COMMENT ON TABLE {t} IS NULL")
    lab.sql(f"COMMENT ON COLUMN {t}.id IS NULL")
    table = lab.session.metastore.table("default", t)
    assert "comment" not in table.properties
    assert not table.columns[0].comment
    with pytest.raises(AcidAnalysisError, match="UNRESOLVED_COLUMN|COLUMN_NOT_FOUND"):
        lab.sql(f"COMMENT ON COLUMN {t}.nothing IS 'x'")


def test_tables_of_spark_are_commented_by_spark(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE commented (id INT) USING parquet")
    try:
        lab.sql("COMMENT ON TABLE commented IS 'of Spark'")
        found = {row[0]: row[1] for row in lab.spark.sql("DESCRIBE EXTENDED commented").collect()}
        assert found["Comment"] == "of Spark"
        lab.sql("CREATE TABLE commented_too LIKE commented")
        assert lab.spark.table("commented_too").columns == ["id"]
    finally:
        lab.spark.sql("DROP TABLE IF EXISTS commented_too")
        lab.spark.sql("DROP TABLE commented")


def test_a_table_like_another_one_is_empty(lab: Lab, tmp_path: Path) -> None:
    t = lab.create(
        "Id INT NOT NULL, s STRING DEFAULT 'x' COMMENT 'text'",
        partitioned="p INT",
        clustered="(Id) INTO 3 BUCKETS",
        properties={"orc.compress": "zlib"},
        values="(1, 'a', 1), (2, 'b', 2)",
    )
    metastore = lab.session.metastore
    try:
        lab.sql(f"CREATE TABLE like_{t} LIKE {t} STORED AS ORC TBLPROPERTIES ('comment'='new')")
        old, new = metastore.table("default", t), metastore.table("default", f"like_{t}")
        assert (new.columns, new.partition_columns) == (old.columns, old.partition_columns)
        assert (new.bucket_columns, new.num_buckets) == (old.bucket_columns, old.num_buckets)
        assert new.properties == {**old.properties, "comment": "new"}
        assert lab.rows(f"like_{t}") == []
        lab.sql(f"INSERT INTO like_{t} (id, p) VALUES (7, 8)")
        assert lab.rows(f"like_{t}") == [(7, "x", 8)]
        assert len(lab.rows(t)) == 2
        lab.sql(f"CREATE TABLE IF NOT EXISTS like_{t} LIKE {t}")
        with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
            lab.sql(f"CREATE TABLE like_{t} LIKE {t}")
        lab.sql(f"CREATE TABLE far_{t} LIKE {t} LOCATION '{tmp_path}/far'")
        assert metastore.table("default", f"far_{t}").location == f"file:{tmp_path}/far"
    finally:
        for name in (f"like_{t}", f"far_{t}"):
            lab.sql(f"DROP TABLE IF EXISTS {name}")


@pytest.mark.parametrize(
    ("rest", "condition"),
    [
        ("ROW FORMAT SERDE 's'", "ROW_FORMAT"),
        ("USING parquet", "STORED_AS"),
        ("TBLPROPERTIES ('transactional_properties'='insert_only')", "LIKE"),
    ],
)
def test_what_a_table_like_another_one_cannot_be(lab: Lab, rest: str, condition: str) -> None:
    t = lab.create("id INT")
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(f"CREATE TABLE like_{t} LIKE {t} {rest}")
    assert caught.value.getCondition() == f"UNSUPPORTED_FEATURE.{condition}"
    assert lab.session.metastore.find_table("default", f"like_{t}") is None


def test_a_transactional_table_is_not_like_one_of_spark(lab: Lab) -> None:
    lab.spark.sql("CREATE TABLE plain_one (id INT) USING parquet")
    try:
        with pytest.raises(AcidAnalysisError, match=r"UNSUPPORTED_FEATURE.LIKE\b"):
            lab.sql("CREATE TRANSACTIONAL TABLE other_one LIKE plain_one")
    finally:
        lab.spark.sql("DROP TABLE plain_one")


def test_a_view_gets_another_query(lab: Lab) -> None:
    t = lab.create("id INT, s STRING", values="(1, 'a'), (2, 'b')")
    described = "(n COMMENT 'number') COMMENT 'c' TBLPROPERTIES ('k'='v')"
    lab.sql(f"CREATE VIEW v_{t} {described} AS SELECT id FROM {t}")
    try:
        lab.sql(f"ALTER VIEW v_{t} AS SELECT s, id + 1 AS m FROM {t}")
        frame = lab.frame(f"SELECT * FROM v_{t} ORDER BY m")
        assert frame.columns == ["s", "m"]
        assert frame.collect() == [("a", 2), ("b", 3)]
        view = lab.session.metastore.table("default", f"v_{t}")
        assert (view.properties["comment"], view.properties["k"]) == ("c", "v")
        with pytest.raises(AcidAnalysisError, match="RECURSIVE_VIEW"):
            lab.sql(f"ALTER VIEW v_{t} AS SELECT * FROM v_{t}")
        assert len(lab.rows(f"v_{t}")) == 2
    finally:
        lab.sql(f"DROP VIEW v_{t}")
