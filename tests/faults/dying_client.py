"""Client of a metastore that is killed at a call.

``python -m tests.faults.dying_client URI DATABASE NUMBER CUT STATEMENT`` kills itself at the call
of a number, before it is sent or when it is answered, and says its name first.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

import acidsql
from acidsql.metastore.hive.connection import Connections
from tests.faults.server_proxy import IN_BACKGROUND, Cut


def main(uri: str, database: str, number: str, cut: str, statement: str) -> None:
    """Run the statement, up to the call."""
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", tempfile.mkdtemp())
        .config("spark.acidsql.metastore", uri)
        .config("spark.acidsql.synchronous", "off")
        .getOrCreate()
    )
    acidsql.sql(spark, f"USE {database}")
    call, calls = Connections._call_once, 0

    def dying(self: Connections, method: str, arguments: Sequence[object]) -> Any:
        nonlocal calls
        if method in IN_BACKGROUND:
            return call(self, method, arguments)
        calls += 1
        if calls - 1 != int(number):
            return call(self, method, arguments)
        if Cut(cut) is Cut.ANSWER:
            call(self, method, arguments)
        print(method, flush=True)
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    Connections._call_once = dying  # type: ignore[method-assign]
    acidsql.sql(spark, statement)


if __name__ == "__main__":
    main(*sys.argv[1:])
