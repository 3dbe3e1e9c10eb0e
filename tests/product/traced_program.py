"""Program whose system calls a test looks at: a few statements, each followed by a mark."""

from __future__ import annotations

import sys
from pathlib import Path

from pyspark.sql import SparkSession

import acidsql
from acidsql import limits

STATEMENTS = (
    "CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) STORED AS ORC "
    "TBLPROPERTIES ('transactional'='true')",
    "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
    "UPDATE t SET v = 'x' WHERE id = 2",
    "INSERT INTO t SELECT CAST(id AS INT), 'd', 3 FROM range(1000)",
    "DELETE FROM t WHERE id % 2 = 0",
    "ALTER TABLE t PARTITION (p = 3) COMPACT 'major'",
)


def main(home: Path, synchronous: str) -> None:
    """Run the statements; those of more than a few rows are written by tasks."""
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.acidsql.synchronous", synchronous)
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .getOrCreate()
    )
    assert limits.limits().driver_rows < 1000
    for number, statement in enumerate(STATEMENTS):
        acidsql.sql(spark, statement)
        (home / f"mark_{number}").exists()
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
