"""The benchmark's use of acidsql, only through its public interface."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlparse

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

import acidsql

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import DataStreamWriter

    from tpcds_bench.data import Column

FAILURES = (PySparkException, Py4JError)
"""Exceptions of a statement that fails."""


def query(spark: SparkSession, text: str) -> DataFrame:
    """Return the DataFrame of a query over ACID tables."""
    return acidsql.sql(spark, text)


def execute(spark: SparkSession, text: str) -> int | None:
    """Run a statement; return the number of affected rows, or None if it reports no number."""
    rows: list[Any] = acidsql.sql(spark, text).collect()
    if not rows or "num_affected_rows" not in rows[0]:
        return None
    return int(rows[0]["num_affected_rows"])


def write_stream(
    frame: DataFrame, table: str, checkpoint: str, *, on: str, order_by: str
) -> DataStreamWriter:
    """Return a stream writer that merges the newest row of each key into a table."""
    return acidsql.write_stream(frame, table, checkpoint, mode="merge", on=on, order_by=order_by)


def directories_read(frame: DataFrame) -> int:
    """Return the number of directories that the statement of a DataFrame read."""
    counters = acidsql.metrics(frame)
    return 0 if counters is None else counters.directories_read


def create_database(spark: SparkSession, database: str) -> None:
    """Create an ACID database, and make it the current database."""
    execute(spark, f"CREATE DATABASE {database}")
    execute(spark, f"USE {database}")


def create_table(
    spark: SparkSession,
    table: str,
    columns: Sequence[Column],
    *,
    partitioned_by: str | None = None,
    codec: str | None = None,
) -> None:
    """Create an ACID table; a partition column must be the last of ``columns``."""
    compress = f", 'orc.compress'='{codec}'" if codec else ""
    body = [f"{c.name} {c.spark_type}" for c in columns if c.name != partitioned_by]
    partitions = [f"{c.name} {c.spark_type}" for c in columns if c.name == partitioned_by]
    clause = f" PARTITIONED BY ({', '.join(partitions)})" if partitions else ""
    execute(
        spark,
        f"CREATE TABLE {table} ({', '.join(body)}){clause} STORED AS ORC"
        f" TBLPROPERTIES ('transactional'='true'{compress})",
    )


class CompactionError(RuntimeError):
    """Error of a compaction that did not happen or did not remove old directories."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Numbers of a table's directories, over all partitions.

    Args:
        bases: number of base directories.
        deltas: number of delta directories.
        delete_deltas: number of delete delta directories.
    """

    bases: int
    deltas: int
    delete_deltas: int

    @property
    def directories(self) -> int:
        """Number of all directories."""
        return self.bases + self.deltas + self.delete_deltas

    def __str__(self) -> str:
        return f"{self.bases} + {self.deltas} + {self.delete_deltas}"


def compact(spark: SparkSession, table: str, kind: str) -> None:
    """Compact every partition of a table, and remove the replaced directories.

    A partition with a single delta is skipped or refused, because there is nothing to merge.

    Raises:
        CompactionError: nothing was compacted, or old directories still exist.
    """
    # DataFrames of earlier statements have been read; their leases would retain old directories.
    acidsql.release(spark)
    rows = acidsql.sql(spark, f"ALTER TABLE {table} COMPACT '{kind}' AND WAIT").collect()
    states = Counter(row["state"] for row in rows)
    if not states["succeeded"] or set(states) - {"succeeded", "refused"}:
        raise CompactionError(f"{kind} compaction of {table}: {rows}")
    left, places = layout(spark, table), _places(spark, table)
    most = places - states["succeeded"] if kind == "major" else places
    if left.deltas > most or left.delete_deltas > most:
        raise CompactionError(f"{kind} compaction of {table} left {left} directories: {rows}")


def cluster(spark: SparkSession, table: str, columns: Sequence[str]) -> None:
    """Cluster the rows of a table by some columns.

    Raises:
        CompactionError: the rows were not clustered.
    """
    acidsql.release(spark)
    rows = acidsql.sql(spark, f"OPTIMIZE {table} ZORDER BY ({', '.join(columns)})").collect()
    if {row["state"] for row in rows} != {"succeeded"}:
        raise CompactionError(f"clustering of {table}: {rows}")


def point_read_shares(spark: SparkSession, table: str) -> dict[str, float]:
    """Return the share of row groups that a condition on one value reads.

    It is returned for each column that the table, which has no partitions, is clustered by.
    """
    (one,) = acidsql.health(spark, table)
    return dict(one.point_read_shares)


def _places(spark: SparkSession, table: str) -> int:
    """Count a table's partitions with directories on the local disk; 1 without partitions."""
    paths = root(spark, table).rglob("*")
    return len({p.parent for p in paths if p.is_dir() and p.name.startswith(("base_", "delta_"))})


def maintain(spark: SparkSession) -> None:
    """Run a round of maintenance."""
    acidsql.maintenance(spark)


def root(spark: SparkSession, table: str) -> Path:
    """Return the directory of a table on the local disk."""
    return Path(urlparse(acidsql.location(spark, table)).path)


def layout(spark: SparkSession, table: str) -> Layout:
    """Count the directories of a table on the local disk."""
    return layout_below(root(spark, table))


def layout_below(place: Path) -> Layout:
    """Count the directories of a table on the local disk, without Spark.

    Other processes may remove directories meanwhile.
    """
    names = [name for _, directories, _ in os.walk(place) for name in directories]
    return Layout(
        bases=sum(name.startswith("base_") for name in names),
        deltas=sum(name.startswith("delta_") for name in names),
        delete_deltas=sum(name.startswith("delete_delta_") for name in names),
    )
