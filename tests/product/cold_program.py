"""Program whose first calls of each public function come from sixteen threads at once."""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql.syntax import parse

THREADS, WRITERS = 16, 2
TABLE = "CREATE TABLE IF NOT EXISTS t (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def calls(spark: SparkSession, home: Path) -> Mapping[str, Callable[[int], Any]]:
    """Return a call of each public function; a number distinguishes the threads."""

    def insert(number: int) -> None:
        text = f"INSERT INTO t VALUES ({number})"
        acidsql.sql(spark, text if number < WRITERS else f"EXPLAIN {text}")

    def connect(number: int) -> None:
        with acidsql.connect(spark) as connection, connection.cursor() as cursor:
            cursor.execute("SELECT count(*) FROM t WHERE id < ?", [number])

    def transaction(number: int) -> None:
        if number >= WRITERS:
            return
        with acidsql.transaction(spark) as own:
            own.sql(f"INSERT INTO t VALUES ({number})")

    def as_of(_: int) -> None:
        with acidsql.as_of(spark, timestamp=datetime.now(tz=UTC)):
            acidsql.sql(spark, "SELECT * FROM t")

    def consume(number: int) -> None:
        acidsql.consume_changes(spark, "t", _count, consumer=f"c{number}")

    def follow(number: int) -> None:
        stop = threading.Event()
        stop.set()
        acidsql.follow_changes(spark, "t", _count, consumer=f"c{number}", stop=stop)

    def convert(number: int) -> None:
        dry_run = number >= WRITERS
        place = f"parquet:{home}/plain"
        acidsql.convert(spark, place, f"converted_{number}", dry_run=dry_run)

    def export(number: int) -> None:
        if number < WRITERS:
            acidsql.export(spark, "t", f"parquet:{home}/exported_{number}")

    def write_stream(number: int) -> None:
        rows = spark.readStream.format("rate").load().selectExpr("CAST(value AS INT) AS id")
        acidsql.write_stream(rows, "t", f"{home}/checkpoint_{number}")

    spark.range(3).write.parquet(f"{home}/plain")
    return {
        "parse": lambda number: parse(f"DELETE FROM t WHERE id = {number}"),
        "sql": lambda _: acidsql.sql(spark, TABLE),
        "INSERT": insert,
        "table": lambda _: acidsql.table(spark, "t"),
        "location": lambda _: acidsql.location(spark, "t"),
        "translated": lambda _: acidsql.sql(spark, "SELECT nvl2(1, 2, 3)", dialect="hive"),
        "health": lambda _: acidsql.health(spark, "t"),
        "check": lambda _: acidsql.check(spark, "t"),
        "AcidTable": lambda _: acidsql.AcidTable.forName(spark, "t").toDF(),
        "changes": lambda _: acidsql.changes(spark, "t", from_version=1),
        "changes_since": lambda _: acidsql.changes_since(spark, "t", None),
        "as_of": as_of,
        "consume": consume,
        "follow": follow,
        "convert": convert,
        "export": export,
        "connect": connect,
        "transaction": transaction,
        "sink": lambda number: acidsql.sink("t", spark=spark, app_id=f"s{number}"),
        "write_stream": write_stream,
        "metrics": lambda _: acidsql.metrics(acidsql.table(spark, "t")),
        "files": lambda _: acidsql.files(spark, "t"),
        "arrow_batches": lambda _: acidsql.arrow_batches(
            "t", warehouse=home / "warehouse"
        ).read_all(),
        "read_arrow": lambda _: acidsql.read_arrow("t", warehouse=home / "warehouse"),
        "register": lambda _: acidsql.register(spark),
        "release": lambda _: acidsql.release(spark),
        "enable": lambda _: acidsql.enable(spark),
        "enabled": lambda _: spark.table("t"),
        "run_compaction": lambda _: acidsql.run_compaction(spark),
        "run_cleaner": lambda _: acidsql.run_cleaner(spark),
        "maintenance": lambda _: acidsql.maintenance(spark),
        "disable": lambda _: acidsql.disable(spark),
    }


def _count(_: acidsql.TransactionHandle, changes: DataFrame) -> None:
    changes.count()


def main(home: Path) -> None:
    """Make the calls, each in all threads at once; print which failed and how."""
    sys.setswitchinterval(1e-5)
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.acidsql.compaction.auto", "off")
        .config("spark.acidsql.retries", "20")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .getOrCreate()
    )
    for name, call in calls(spark, home).items():
        barrier = threading.Barrier(THREADS)

        def run(
            number: int,
            name: str = name,
            call: Callable[[int], Any] = call,
            barrier: threading.Barrier = barrier,
        ) -> None:
            barrier.wait()
            try:
                call(number)
            except BaseException:  # noqa: BLE001 - the test shows it
                print(f"{name} failed: {traceback.format_exc(-3)}", flush=True)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(name, flush=True)
    rows = acidsql.sql(spark, "SELECT count(*) FROM t").collect()[0][0]
    print(f"{rows} rows", flush=True)
    spark.stop()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
