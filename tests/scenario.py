"""One walk through the core statements, for tests that run it elsewhere than locally."""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

import acidsql

_TABLE = "STORED AS ORC LOCATION '{location}' TBLPROPERTIES ('transactional'='true')"


def _rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(r) for r in acidsql.sql(spark, f"SELECT * FROM {table}").collect())


def core(spark: SparkSession, root: str) -> None:
    """INSERT, UPDATE, DELETE, MERGE and both compactions, on a plain and on a partitioned table.

    Args:
        root: directory for the tables, as a path that Spark understands.
    """
    plain = _TABLE.format(location=f"{root}/plain")
    acidsql.sql(spark, f"CREATE TABLE plain (id INT, v STRING) {plain}")
    acidsql.sql(spark, "INSERT INTO plain SELECT id, concat('v', id) FROM range(0, 1000, 1, 4)")
    acidsql.sql(spark, "UPDATE plain SET v = 'even' WHERE id % 2 = 0")
    acidsql.sql(spark, "DELETE FROM plain WHERE id >= 500")
    counts = acidsql.sql(
        spark,
        "MERGE INTO plain t USING (SELECT id * 100 AS id FROM range(20)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.id, "
        "'new')",
    ).head()
    assert (counts.num_updated_rows, counts.num_inserted_rows) == (5, 15)
    expected = sorted(
        [(i, "merged" if i % 100 == 0 else "even" if i % 2 == 0 else f"v{i}") for i in range(500)]
        + [(i * 100, "new") for i in range(5, 20)]
    )
    assert _rows(spark, "plain") == expected
    for kind in ("minor", "major"):
        acidsql.release(spark)
        acidsql.sql(spark, f"ALTER TABLE plain COMPACT '{kind}' AND WAIT")
        assert _rows(spark, "plain") == expected
    partitioned = _TABLE.format(location=f"{root}/partitioned")
    acidsql.sql(spark, f"CREATE TABLE partitioned (id INT) PARTITIONED BY (p STRING) {partitioned}")
    acidsql.sql(spark, "INSERT INTO partitioned SELECT id, concat('p ', id % 3) FROM range(9)")
    acidsql.sql(spark, "UPDATE partitioned SET p = 'moved' WHERE id = 4")
    acidsql.sql(spark, "DELETE FROM partitioned WHERE p = 'p 0'")
    acidsql.release(spark)
    acidsql.sql(spark, "ALTER TABLE partitioned COMPACT 'major'")
    kept = [(1, "p 1"), (2, "p 2"), (4, "moved"), (5, "p 2"), (7, "p 1"), (8, "p 2")]
    assert _rows(spark, "partitioned") == kept
    for table in ("plain", "partitioned"):
        acidsql.sql(spark, f"DROP TABLE {table}")


def main(master: str, home: str) -> None:
    """Run the walk in a session of its own, tables and metastore below ``home``."""
    spark = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", f"{home}/warehouse")
        .config("spark.executor.memory", "512m")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    core(spark, f"{home}/tables")
    workers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(f"scenario passed with {workers} executors")
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
