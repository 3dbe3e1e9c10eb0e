"""Tests of what Hive reads otherwise than acidsql; random histories leave it out."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import acidsql
from tests.hive.agreement import MODES
from tests.hive.hive import Hive

pytestmark = [pytest.mark.hive, pytest.mark.spark]


@pytest.mark.parametrize(
    ("kind", "shown"), [("STRING", "__HIVE_DEFAULT_PARTITION__"), ("BOOLEAN", "true")]
)
def test_hive_shows_null_in_a_partition_column_as_the_name_of_its_directory(
    hive: Hive, shared: SparkSession, kind: str, shown: str
) -> None:
    """Check NULL in a partition column: the directory's name as STRING, true as BOOLEAN."""
    table = f"differs_{kind.lower()}"
    hive.run(
        f"CREATE TABLE {table} (id INT) PARTITIONED BY (p {kind}, n INT) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive.run(f"INSERT INTO {table} VALUES (1, NULL, NULL)")
    ours = acidsql.sql(shared, f"SELECT * FROM {table}").collect()
    assert [tuple(row) for row in ours] == [(1, None, None)]
    for mode in MODES:
        for setting in mode:
            hive.run(setting)
        assert hive.run(f"SELECT * FROM {table}") == [("1", shown, None)]


def test_hive_counts_rows_that_it_rolled_back(hive: Hive, shared: SparkSession) -> None:
    """Check that Hive counts from statistics, which it updates before the transaction ends."""
    hive.run(
        "CREATE TABLE rolled_back (id INT) PARTITIONED BY (p INT) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive.run("SET hive.stats.autogather=true")
    hive.run("SET hive.compute.query.using.stats=true")
    try:
        hive.run("INSERT INTO rolled_back PARTITION (p = 1) VALUES (1), (2), (3)")
        hive.run("START TRANSACTION")
        hive.run("INSERT INTO rolled_back PARTITION (p) VALUES (4, 1), (5, 1)")
        hive.run("ROLLBACK")
        assert hive.run("SELECT count(*) FROM rolled_back") == [("5",)]
    finally:
        hive.run("SET hive.stats.autogather=false")
        hive.run("SET hive.compute.query.using.stats=false")
    assert hive.run("SELECT count(*) FROM rolled_back") == [("3",)]
    assert acidsql.sql(shared, "SELECT count(*) FROM rolled_back").collect() == [(3,)]


def test_hives_compactor_loses_partitions_beyond_ascii(hive: Hive, shared: SparkSession) -> None:
    """Check a bug of CompactorInputSplit, which writes a path with one byte for each character."""
    for table, value in (("compacted_ascii", "a %41"), ("compacted_beyond", "ä")):
        hive.run(
            f"CREATE TABLE {table} (id INT, v INT) PARTITIONED BY (p STRING) "
            "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        )
        hive.run(f"INSERT INTO {table} PARTITION (p = '{value}') VALUES (1, 1), (2, 2)")
        hive.run(f"UPDATE {table} SET v = 5 WHERE id = 1")
    hive.compact("compacted_ascii", "major", "p = 'a %41'")
    hive.compact("compacted_beyond", "major", "p = 'ä'")
    assert len(hive.run("SELECT * FROM compacted_ascii")) == 2
    assert hive.run("SELECT * FROM compacted_beyond") == []
    # Ours does not.
    hive.run("INSERT INTO compacted_beyond PARTITION (p = 'ä') VALUES (3, 3)")
    hive.run("DELETE FROM compacted_beyond WHERE id = 2")
    acidsql.release(shared)
    compact = "ALTER TABLE compacted_beyond PARTITION (p = 'ä') COMPACT 'major' AND WAIT"
    assert acidsql.sql(shared, compact).collect()[0].state != "failed"
    hive.clean("compacted_beyond")
    assert [p.name[:12] for p in (hive.warehouse / "compacted_beyond" / "p=ä").iterdir()] == [
        "base_0000003"
    ]
    assert hive.run("SELECT * FROM compacted_beyond") == [("3", "3", "ä")]
