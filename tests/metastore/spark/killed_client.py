"""Client that is killed in the middle of a statement.

``python killed_client.py URI DATABASE STEP STATEMENT``: the process kills itself when it calls
STEP, a method of the metastore.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from typing import NoReturn

from pyspark.sql import SparkSession

import acidsql
from acidsql.metastore.hive.store import HiveMetastore


def main(uri: str, database: str, step: str, statement: str) -> None:
    """Run the statement, up to the step."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .config("spark.acidsql.metastore", uri)
        .getOrCreate()
    )
    acidsql.sql(spark, f"USE {database}")

    def die(*_: object) -> NoReturn:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    setattr(HiveMetastore, step, die)
    acidsql.sql(spark, statement)


if __name__ == "__main__":
    main(*sys.argv[1:])
