"""Spark sessions of a run, one for each process."""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from tests import class_data
from tests.concurrency.warehouses import warehouse_of

METASTORE = "metastore.sqlite"


def open_session(home: Path, name: str, txn_timeout: float = 120) -> SparkSession:
    """Start Spark with a small JVM.

    Args:
        home: directory of the warehouse and the metastore, which all processes share.
        name: of the process.
        txn_timeout: seconds until transactions of a process that is gone are aborted.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("SPARK_SUBMIT_OPTS", class_data.java_options())
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    warehouse = warehouse_of(home)
    spark = (
        SparkSession.builder.master("local[2]")
        .appName(f"concurrency {name}")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "768m")
        # All of the heap is taken at once, so that more memory later is not heap; how much of
        # it is in use is measured apart.
        .config(
            "spark.driver.extraJavaOptions",
            f"-Dderby.system.home={home / name} -Xms768m -XX:+AlwaysPreTouch",
        )
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.default.parallelism", "2")
        # What Spark remembers of ended jobs and queries would fill up for an hour.
        .config("spark.ui.retainedJobs", "20")
        .config("spark.ui.retainedStages", "20")
        .config("spark.ui.retainedTasks", "100")
        .config("spark.sql.ui.retainedExecutions", "20")
        .config("spark.sql.warehouse.dir", warehouse.uri)
        .config(map=dict(warehouse.settings))
        .config("spark.acidsql.metastore", str(home / METASTORE))
        .config("spark.acidsql.synchronous", "off")
        .config("spark.acidsql.retries", "0")  # the checker wants each conflict
        .config("spark.acidsql.txn.timeout", str(txn_timeout))
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    return spark
