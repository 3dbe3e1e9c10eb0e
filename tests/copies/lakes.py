"""Program that converts tables of Delta and Iceberg, and exports into them: ``python -m
tests.copies.lakes HOME``; it prints what it found as JSON.

Its jars are those of Maven Central for the release of PySpark that runs it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyspark
from pyspark.sql import SparkSession

import acidsql
from acidsql.copies.progress import CONVERSIONS

PACKAGES = {
    "3.5": (
        "io.delta:delta-spark_2.12:3.3.2",
        "io.delta:delta-storage:3.3.2",
        "org.apache.iceberg:iceberg-spark-runtime-3.5_2.12:1.9.2",
    ),
    "4.0": (
        "io.delta:delta-spark_4.0_2.13:4.4.0",
        "org.apache.iceberg:iceberg-spark-runtime-4.0_2.13:1.11.0",
    ),
}
"""Packages by the first two numbers of the release; there are none for later ones."""


def packages() -> tuple[str, ...] | None:
    """Return the packages for this release of PySpark, None if there are none."""
    return PACKAGES.get(".".join(pyspark.__version__.split(".")[:2]))


def session(home: Path, jars: tuple[str, ...]) -> SparkSession:
    """Start a session that knows both formats."""
    settings = {
        "spark.jars.packages": ",".join(jars),
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension,"
        "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
        "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
        "spark.sql.catalog.ice.type": "hadoop",
        "spark.sql.catalog.ice.warehouse": (home / "ice").as_uri(),
        "spark.sql.warehouse.dir": str(home / "warehouse"),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.shuffle.partitions": "2",
        "spark.databricks.delta.snapshotPartitions": "2",
        "spark.ui.enabled": "false",
        "spark.driver.memory": "1g",
        "spark.acidsql.compaction.auto": "off",
    }
    builder = SparkSession.builder.master("local[2]").appName("lakes")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


class _Stop(Exception):
    pass


def _stop(number: int, total: int, rows: int) -> None:
    del number, total, rows
    raise _Stop


def resumed(spark: SparkSession, source: str, target: str, change: str) -> dict[str, Any]:
    """Convert, are stopped after the first batch, go on after the source has changed."""
    try:
        acidsql.convert(spark, source, target, batch_rows=1, on_batch=_stop)
    except _Stop:
        first = acidsql.table(spark, target).count()
    spark.sql(change)
    done = acidsql.convert(spark, source, target, batch_rows=1)
    return {
        "first": first,
        "batches": done.batches,
        "copied": done.copied,
        "partitions": list(done.partition_columns),
        "rows": sorted(map(list, acidsql.table(spark, target).select("id", "p").collect())),
    }


def run(spark: SparkSession, home: Path) -> dict[str, Any]:
    """Convert and export."""
    rows = "SELECT CAST(id AS INT) AS id, concat('p', id % 2) AS p FROM range(4)"
    delta = home / "delta"
    spark.sql(rows).write.format("delta").partitionBy("p").save(str(delta))
    spark.sql(f"DELETE FROM delta.`{delta}` WHERE id = 3")
    spark.sql(f"CREATE TABLE ice.db.t USING iceberg PARTITIONED BY (p) AS {rows}")
    spark.sql("DELETE FROM ice.db.t WHERE id = 3")
    found = {
        "delta": resumed(
            spark, f"delta:{delta}", "from_delta", f"DELETE FROM delta.`{delta}` WHERE id = 0"
        ),
        "iceberg": resumed(
            spark, "iceberg:ice.db.t", "from_iceberg", "DELETE FROM ice.db.t WHERE id = 0"
        ),
        "table": resumed(spark, "ice.db.t", "from_table", "DELETE FROM ice.db.t WHERE id = 1"),
    }
    for name, target, source in (
        ("to_delta", f"delta:{home / 'to_delta'}", f"delta:{home / 'to_delta'}"),
        ("to_iceberg", "iceberg:ice.db.made", "ice.db.made"),
    ):
        done = acidsql.export(spark, "from_delta", target)
        back = acidsql.convert(spark, source, f"again_{name}")
        found[name] = {
            "rows": done.rows,
            "partitions": list(back.partition_columns),
            "back": back.rows,
        }
    acidsql.sql(spark, f"DROP TABLE {CONVERSIONS}")
    return found


def main() -> None:
    """Run in the directory that the first argument names."""
    home = Path(sys.argv[1])
    jars = packages()
    assert jars is not None
    spark = session(home, jars)
    spark.sparkContext.setLogLevel("ERROR")
    sys.stdout.write(json.dumps(run(spark, home)))
    spark.stop()


if __name__ == "__main__":
    main()
