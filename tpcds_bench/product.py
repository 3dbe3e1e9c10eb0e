"""Everything the benchmark asks of acidsql, through its public interface."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import acidsql
from acidsql.errors import AcidSqlError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Column

FAILURES = (AcidSqlError, PySparkException, Py4JError)
"""What a statement that cannot be done raises."""


def query(spark: SparkSession, text: str) -> DataFrame:
    """Return the DataFrame of a query over ACID tables."""
    return acidsql.sql(spark, text)


def execute(spark: SparkSession, text: str) -> int | None:
    """Run a statement and return the number of affected rows, or None when it reports none."""
    rows: list[Any] = acidsql.sql(spark, text).collect()
    if not rows or "num_affected_rows" not in rows[0]:
        return None
    return int(rows[0]["num_affected_rows"])


def create_database(spark: SparkSession, database: str) -> None:
    """Create an ACID database and make it the current one."""
    execute(spark, f"CREATE DATABASE {database}")
    execute(spark, f"USE {database}")


def create_table(
    spark: SparkSession, table: str, columns: Sequence[Column], *, partitioned_by: str | None = None
) -> None:
    """Create an ACID table; a partition column must be the last of ``columns``."""
    body = [f"{c.name} {c.spark_type}" for c in columns if c.name != partitioned_by]
    partitions = [f"{c.name} {c.spark_type}" for c in columns if c.name == partitioned_by]
    clause = f" PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
    execute(
        spark,
        f"CREATE TABLE {table} ({', '.join(body)}){clause} STORED AS ORC"
        " TBLPROPERTIES ('transactional'='true')",
    )


def compact(spark: SparkSession, table: str, kind: str) -> None:
    """Compact a table, every partition of it, and wait for the end."""
    execute(spark, f"ALTER TABLE {table} COMPACT '{kind}' AND WAIT")
