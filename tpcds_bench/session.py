"""Spark session of every suite."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tpcds_bench.data import Dataset

# The 99 texts quote column names, as in "30 days". Without this setting, Spark reads them as
# strings. The setting needs ANSI mode, which is the default in Spark 4 but not in Spark 3.5.
SETTINGS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "4",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    # A suite measures only the compactions that it requests; ``day`` switches this on.
    "spark.acidsql.compaction.auto": "off",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Environment of a suite.

    Args:
        spark: session of the suite.
        data: source data.
        work: empty directory that is removed at the end.
    """

    spark: SparkSession
    data: Dataset
    work: Path


@contextmanager
def spark_session(
    work: Path,
    *,
    driver_memory: str = "4g",
    cores: int = 2,
    settings: Mapping[str, str] | None = None,
) -> Iterator[SparkSession]:
    """Start Spark with its warehouse in ``work``, and stop it at the end.

    Args:
        work: directory for the warehouse and the embedded metastore.
        driver_memory: heap of the JVM, in Spark's notation.
        cores: threads of the local master.
        settings: Spark settings in addition to :data:`SETTINGS`.

    Raises:
        RuntimeError: a session is already active, so its heap and warehouse cannot change.
    """
    if SparkSession.getActiveSession() is not None:
        raise RuntimeError("a Spark session is already active (stop it, or run in another process)")
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = (
        SparkSession.builder.appName("tpcds_bench")
        .master(f"local[{cores}]")
        .config("spark.driver.memory", driver_memory)
        .config("spark.sql.warehouse.dir", (work / "warehouse").resolve().as_uri())
    )
    for key, value in {**SETTINGS, **(settings or {})}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()
