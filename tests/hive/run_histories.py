"""Plays many random histories: ``python -m tests.hive.run_histories --count 200``."""

from __future__ import annotations

import os
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.session.acid_session import AcidSession
from tests.hive.histories import history
from tests.hive.history_runner import HistoryError, play
from tests.hive.hive import running


def main() -> int:
    """Play the histories of successive seeds; 1 if any of them failed."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many (default 200)")
    parser.add_argument("--first-seed", type=int, default=0, help="default 0")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.count)
    failed, started, kinds = [], time.monotonic(), Counter[str]()
    with (
        tempfile.TemporaryDirectory(prefix="histories_") as home,
        running(Path(home) / "hive", serve=True) as hive,
        _session(Path(home), hive.uri) as spark,
    ):
        for seed in seeds:
            before, told = time.monotonic(), history(seed)
            try:
                play(spark, hive, told)
                outcome = "same"
                kinds.update(f"{step.kind.value} by {step.by.value}" for step in told.steps)
            except HistoryError as error:
                failed.append(seed)
                outcome = f"FAILED\n{error}\n"
            seconds = time.monotonic() - before
            print(f"{seed}: {len(told.steps)} steps, {seconds:.1f} s, {outcome}", flush=True)
    for kind, count in sorted(kinds.items()):
        print(f"{kind}: {count}")
    minutes = (time.monotonic() - started) / 60
    print(f"{len(seeds)} histories, {len(failed)} failed, {minutes:.1f} minutes")
    if failed:
        print("failed:", *failed)
    return 1 if failed else 0


@contextmanager
def _session(home: Path, uri: str) -> Iterator[SparkSession]:
    """Yield a Spark session in UTC, like Hive, that uses Hive's metastore."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "2g")
        .config("spark.sql.ansi.enabled", "true")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.acidsql.metastore", uri)
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    try:
        yield spark
    finally:
        AcidSession.of(spark).close()
        spark.stop()


if __name__ == "__main__":
    sys.exit(main())
