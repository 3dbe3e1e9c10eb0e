"""Directories that others wrote: adopted with their rows, their write ids and their partitions."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError

pytestmark = pytest.mark.spark

NATION = Path(__file__).parent.parent / "fixtures" / "nation25k"
COLUMNS = "n_nationkey INT, n_name STRING, n_regionkey INT, n_comment STRING"


@pytest.fixture
def nation(spark: SparkSession, tmp_path: Path) -> Iterator[Path]:
    """Yield the location of 25,000 rows that Hive 3 wrote in 5 stripes, with two delete deltas."""
    location = tmp_path / "nation"
    shutil.copytree(NATION, location)
    acidsql.sql(
        spark,
        f"CREATE TABLE nation ({COLUMNS}) STORED AS ORC LOCATION '{location}' "
        "TBLPROPERTIES ('transactional'='true')",
    )
    yield location
    acidsql.sql(spark, "DROP TABLE nation")


def _counts(spark: SparkSession) -> dict[int, int]:
    text = "SELECT n_nationkey, count(*) FROM nation GROUP BY n_nationkey"
    return {row[0]: row[1] for row in acidsql.sql(spark, text).collect()}


def _directories(location: Path) -> list[str]:
    return sorted(p.name for p in location.iterdir())


@pytest.mark.usefixtures("nation")
def test_hives_deletes_are_applied(spark: SparkSession) -> None:
    expected = {key: 1000 for key in range(25) if key not in (5, 19)}
    assert _counts(spark) == expected


@pytest.mark.slow
@pytest.mark.usefixtures("nation")
def test_update_delete_and_both_compactions_keep_the_rows(spark: SparkSession) -> None:
    updated = acidsql.sql(spark, "UPDATE nation SET n_nationkey = 100 WHERE n_nationkey = 7")
    assert updated.head().num_affected_rows == 1000
    deleted = acidsql.sql(spark, "DELETE FROM nation WHERE n_nationkey IN (0, 100)")
    assert deleted.head().num_affected_rows == 2000
    expected = {key: 1000 for key in range(1, 25) if key not in (5, 7, 19)}
    assert _counts(spark) == expected
    ids = "SELECT row__id.writeid, row__id.bucketid, row__id.rowid FROM nation"
    before = {tuple(row) for row in acidsql.sql(spark, ids).collect()}
    assert len(before) == 21_000
    for kind in ("minor", "major"):
        acidsql.sql(spark, f"ALTER TABLE nation COMPACT '{kind}' AND WAIT")
        assert _counts(spark) == expected
        assert {tuple(row) for row in acidsql.sql(spark, ids).collect()} == before
    acidsql.release(spark)
    assert acidsql.sql(spark, "SHOW COMPACTIONS nation").where("state = 'failed'").count() == 0


def test_new_writes_come_after_hives_write_ids(spark: SparkSession, nation: Path) -> None:
    acidsql.sql(spark, "DELETE FROM nation WHERE n_nationkey = 1")
    assert "delete_delta_0000005_0000005_0000" in _directories(nation)


def test_other_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(NATION, tmp_path / "nation")
    with pytest.raises(AcidAnalysisError) as caught:
        acidsql.sql(
            spark,
            f"CREATE TABLE other (a INT, b STRING) STORED AS ORC LOCATION '{tmp_path / 'nation'}' "
            "TBLPROPERTIES ('transactional'='true')",
        )
    assert caught.value.condition == "ADOPTED_SCHEMA_MISMATCH"


@pytest.mark.slow
def test_a_table_whose_metastore_was_lost_is_adopted_with_partitions_and_compactions(
    spark: SparkSession, tmp_path: Path
) -> None:
    location = tmp_path / "kept"
    create = (
        f"CREATE TABLE {{name}} (id INT) PARTITIONED BY (p STRING) STORED AS ORC "
        f"LOCATION '{location}' TBLPROPERTIES ('transactional'='true')"
    )
    acidsql.sql(spark, create.format(name="first"))
    acidsql.sql(spark, "INSERT INTO first VALUES (1, 'a=b'), (2, 'c')")
    acidsql.sql(spark, "INSERT INTO first VALUES (3, 'c'), (4, NULL)")
    acidsql.sql(spark, "DELETE FROM first WHERE id = 2")
    acidsql.sql(spark, "ALTER TABLE first PARTITION (p = 'c') COMPACT 'major'")
    copy = tmp_path / "copy"
    shutil.copytree(location, copy)
    other = spark.newSession()
    other.conf.set("spark.acidsql.metastore", str(tmp_path / "other.sqlite"))
    acidsql.sql(other, create.format(name="second").replace(str(location), str(copy)))
    rows = acidsql.sql(other, "SELECT id, p FROM second ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "a=b"), (3, "c"), (4, None)]
    acidsql.sql(other, "INSERT INTO second VALUES (5, 'c')")
    assert acidsql.sql(other, "SELECT max(row__id.writeid) FROM second").head()[0] == 4
    acidsql.sql(spark, "DROP TABLE first")
