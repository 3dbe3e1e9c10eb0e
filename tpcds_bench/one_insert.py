"""Program of the suite ``processes``: ``python -m tpcds_bench.one_insert WORK NUMBER``.

It starts Spark, inserts one row, and ends like a job that does not call acidsql again.
"""

from __future__ import annotations

import sys
from pathlib import Path

from tpcds_bench import product
from tpcds_bench.session import spark_session

TABLE = "inserted"
"""Name of the table."""
_MEMORY = "700m"


def main() -> None:
    """Insert a row."""
    work, number = Path(sys.argv[1]), int(sys.argv[2])
    settings = {"spark.acidsql.compaction.auto": "on"}
    with spark_session(work, driver_memory=_MEMORY, cores=1, settings=settings) as spark:
        product.execute(spark, f"INSERT INTO {TABLE} VALUES ({number})")


if __name__ == "__main__":
    main()
