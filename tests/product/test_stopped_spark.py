"""Tests of programs that stop Spark as soon as their last statement is done."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.repeated]

_PROGRAM = """
import sys
import time
from pyspark.sql import SparkSession
import acidsql
from acidsql.compaction import worker

spark = (
    SparkSession.builder.master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.memory", "600m")
    .config("spark.sql.warehouse.dir", sys.argv[1] + "/warehouse")
    .config("spark.acidsql.compaction.auto", "off")
    .getOrCreate()
)
acidsql.sql(
    spark, "CREATE TABLE t (id INT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
)
acidsql.sql(spark, "CREATE TEMPORARY TABLE scratch AS SELECT 1 AS a")
for number in range(10):
    acidsql.sql(spark, f"INSERT INTO t VALUES ({number})")
try_next = worker.try_next


def try_next_late(*arguments):  # as on a busy machine
    time.sleep(3)
    return try_next(*arguments)


worker.try_next = try_next_late
job = spark.newSession()
job.conf.set("spark.acidsql.compaction.auto", "on")
acidsql.sql(job, "INSERT INTO t VALUES (10)")
{stop}.stop()
"""


@pytest.mark.parametrize("stop", ["spark", "spark.sparkContext"])
def test_the_last_compaction_and_the_end_of_temporary_tables(tmp_path: Path, stop: str) -> None:
    program = _PROGRAM.replace("{stop}", stop)
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=True, timeout=300)
    with sqlite3.connect(tmp_path / "acidsql_metastore.sqlite") as metastore:
        found = metastore.execute("SELECT type, state, attempts FROM compactions").fetchall()
        assert metastore.execute("SELECT table_name FROM tables").fetchall() == [("t",)]
    assert found == [("major", "succeeded", 1)]
    assert [path.name for path in (tmp_path / "warehouse").iterdir()] == ["t"]
    left = {path.name.partition("_v")[0] for path in (tmp_path / "warehouse" / "t").glob("[bd]*")}
    assert left == {"base_0000011"}
