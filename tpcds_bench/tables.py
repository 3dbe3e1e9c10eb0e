"""Tables that suites compare: source views over Parquet, flat ORC, and databases for both."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tpcds_bench import product

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Column, Dataset

CODEC = "zstd"
"""Default codec of ACID tables, also used for flat ORC, so that codecs do not affect the ratios."""


def source_views(spark: SparkSession, data: Dataset, tables: Iterable[str]) -> None:
    """Create a temporary view ``source_<table>`` of each table's Parquet file."""
    for table in tables:
        spark.read.parquet(str(data.parquet(table))).createOrReplaceTempView(f"source_{table}")


def databases(
    spark: SparkSession, data: Dataset, tables: Iterable[str], *, acid: str, flat: str
) -> None:
    """Create source views, a database for flat tables, and the current database for ACID tables."""
    source_views(spark, data, tables)
    spark.sql(f"CREATE DATABASE {flat}")
    product.create_database(spark, acid)


def flat_table(rows: DataFrame, name: str, codec: str = CODEC) -> None:
    """Write rows as a table of flat ORC."""
    rows.write.format("orc").option("compression", codec).saveAsTable(name)


def names(columns: Iterable[Column]) -> str:
    """Return the names of columns in order, separated by commas."""
    return ", ".join(column.name for column in columns)


def maxima(columns: Iterable[Column]) -> str:
    """Return a select list that reads every value of these columns."""
    return ", ".join(f"max({column.name})" for column in columns)
