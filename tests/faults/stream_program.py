"""Process of the family ``streams``: ``python -m tests.faults.stream_program HOME``.

It looks at the tables and prints ``checked`` with the number of files that are in them, or what is
wrong. Then it streams the files that are there, and prints ``batch`` before and after each batch.
One table has all rows, in the other they are merged. A batch has one file, or two if the process
ended between Spark's choice of a file and of its batch.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.stream_sink import BATCHES

KEYS = 7
_SCHEMA = "id INT, v INT, n INT, op STRING"


class Change(NamedTuple):
    """Row of a file."""

    id: int
    v: int | None
    n: int
    op: str


def changes(batch: int) -> list[Change]:
    """Return the rows of a file: changes of some keys, of one of them twice, and a deletion."""
    keys = [(batch * 3 + i) % KEYS for i in range(3)]
    first = batch * 10
    return [
        *(Change(key, batch, first + i, "u") for i, key in enumerate(keys)),
        Change(keys[0], batch + 1000, first + 5, "u"),
        Change((batch * 5) % KEYS, None, first + 9, "d"),
    ]


def expected(files: int) -> dict[int, int | None]:
    """Return the rows after some number of files."""
    rows: dict[int, int | None] = {}
    for batch in range(files):
        for change in sorted(changes(batch), key=lambda change: change.n):
            if change.op == "d":
                rows.pop(change.id, None)
            else:
                rows[change.id] = change.v
    return rows


def main() -> None:
    """Check the table, and stream."""
    home = Path(sys.argv[1])
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "600m")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", (home / "warehouse").as_uri())
        .getOrCreate()
    )
    for columns in ("log (id INT, v INT, n INT, op STRING)", "t (id INT, v INT)"):
        acidsql.sql(
            spark,
            f"CREATE TABLE IF NOT EXISTS {columns} STORED AS ORC "
            "TBLPROPERTIES ('transactional' = 'true')",
        )
    tell(verdict(spark))
    source = spark.readStream.schema(_SCHEMA).option("maxFilesPerTrigger", 1)
    append = acidsql.sink("log", spark=spark)
    merge = acidsql.sink(
        "t", mode="merge", on="id", order_by="n", delete_when="op = 'd'", spark=spark
    )

    def each(batch: DataFrame, batch_id: int) -> None:
        tell(f"batch {batch_id} begins")
        append(batch, batch_id)
        merge(batch, batch_id)
        tell(f"batch {batch_id} is written")

    query = source.json(str(home / "files")).writeStream.foreachBatch(each)
    query.option("checkpointLocation", str(home / "checkpoint")).start().processAllAvailable()
    tell(verdict(spark))
    spark.stop()


def verdict(spark: SparkSession) -> str:
    """Return what is wrong with the tables, or how many files are in both."""
    logged = sorted(row.n for row in acidsql.sql(spark, "SELECT n FROM log").collect())
    files = len(logged) // len(changes(0))
    if logged != sorted(change.n for file in range(files) for change in changes(file)):
        return f"wrong: the rows {logged} are not those of {files} files"
    rows = acidsql.sql(spark, "SELECT id, v FROM t").collect()
    found = {row.id: row.v for row in rows}
    # The process may have ended between the transactions of a batch's two tables.
    merged = [n for n in range(max(0, files - 2), files + 1) if expected(n) == found]
    if not merged or len(rows) != len(found):
        return f"wrong: {rows} are not the merged rows of {files} files, {expected(files)}"
    for table in ("log", "t", BATCHES):
        if not acidsql.sql(spark, f"SHOW TABLES LIKE '{table}'").collect():
            continue
        problems = acidsql.check(spark, table, full=True).collect()
        if any(row.severity == "error" for row in problems):
            return f"wrong: {json.dumps([row.asDict() for row in problems], default=str)}"
    return f"checked {merged[-1]}"


def tell(text: str) -> None:
    """Print a line for the parent process."""
    print(text, flush=True)


if __name__ == "__main__":
    main()
