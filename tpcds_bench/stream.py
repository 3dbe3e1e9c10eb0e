"""Suite ``stream``: a long Structured Streaming query that merges into a table."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

from tpcds_bench import product
from tpcds_bench.cases import AnswerError
from tpcds_bench.data import Column
from tpcds_bench.measure import cpu_seconds
from tpcds_bench.report import Section

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

SETTINGS = {
    "spark.acidsql.compaction.auto": "on",
    # The report uses the progress of every batch.
    "spark.sql.streaming.numRecentProgressUpdates": "1000000",
}
"""Settings of the session of the suite."""
_TABLE = "streamed"
_COLUMNS = (
    Column(name="id", type="BIGINT"),
    Column(name="n", type="BIGINT"),
    Column(name="text", type="VARCHAR"),
)
_POLL = 1.0
_GOAL = 0.8
_MINUTE = 60.0
_SPAN = 5  # number of minutes that are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """Size of the stream.

    Args:
        minutes: minutes for which the stream runs after its first batch.
        rows: rows of a batch.
        keys: number of different keys, which becomes the number of rows of the table.
    """

    minutes: int
    rows: int
    keys: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Result of the suite.

    Args:
        rates: rows per second in each minute after the first batch.
        costs: seconds of processor time per 1,000 rows in the same minutes, including maintenance;
            other work on the machine hardly changes them.
        batches: number of committed batches.
        most_directories: largest number of directories of the table at any time.
        directories: directories of the table at the end.
    """

    rates: tuple[float, ...]
    costs: tuple[float, ...]
    batches: int
    most_directories: int
    directories: int

    @property
    def ratio(self) -> float:
        """Median rate of the last minutes, divided by the median of the first minutes."""
        return _last(self.rates) / _first(self.rates)

    @property
    def cost_ratio(self) -> float:
        """Median cost of the first minutes, divided by the median of the last minutes."""
        return _first(self.costs) / _last(self.costs)


def run(spark: SparkSession, work: Path, size: Size) -> Result:
    """Merge batches by key for some minutes, with maintenance in the background.

    Args:
        spark: session with its warehouse in ``work``, and with ``SETTINGS``.
        work: directory of the warehouse.
        size: size of the stream.

    Raises:
        AnswerError: the rows of the table do not match the batches.
    """
    product.create_table(spark, _TABLE, _COLUMNS)
    born = (
        spark.readStream.format("rate-micro-batch")
        .option("rowsPerBatch", size.rows)
        .option("numPartitions", 2)
        .load()
        .selectExpr(f"{_key('value', size)} AS id", "value AS n", "concat('value ', value) AS text")
    )
    writer = product.write_stream(born, _TABLE, str(work / "checkpoint"), on="id", order_by="n")
    query = writer.start()
    try:
        used, most = _watch(query, work, size)
    finally:
        query.stop()
    ends = _ends(query)
    _check(spark, size, len(ends))
    rows = rows_of_minutes(ends, size)
    return Result(
        rates=tuple(count / _MINUTE for count in rows),
        costs=tuple(1000 * cpu / max(count, 1) for cpu, count in zip(used, rows, strict=True)),
        batches=len(ends),
        most_directories=most,
        directories=_directories(work),
    )


def sections(size: Size, result: Result) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        f"Batches of {size.rows:,} rows are merged by key into a table of {size.keys:,} rows, as"
        f" fast as they go, with maintenance in the background: {result.batches:,} batches. The"
        f" table had {result.most_directories} directories at most, and {result.directories} at"
        f" the end. The last {_SPAN} minutes are {result.ratio:.2f} times as fast as the first"
        f" {_SPAN} (goal {_GOAL}); by processor time {result.cost_ratio:.2f} times."
    )
    rows = [
        (number, f"{rate:,.0f}", cost)
        for number, (rate, cost) in enumerate(zip(result.rates, result.costs, strict=True), 1)
    ]
    headers = ("minute", "rows/s", "processor seconds per 1,000 rows")
    return (Section(title="A long stream", text=text, headers=headers, rows=rows),)


def _first(values: Sequence[float]) -> float:
    return statistics.median(values[:_SPAN])


def _last(values: Sequence[float]) -> float:
    return statistics.median(values[-_SPAN:])


def _key(value: str, size: Size) -> str:
    """Return the SQL of the key of a value; consecutive values get distant keys."""
    return f"pmod({value} * 7919, {size.keys})"


def _watch(query: StreamingQuery, work: Path, size: Size) -> tuple[list[float], int]:
    """Wait until the stream has run for its minutes.

    Returns:
        The processor seconds of each minute, and the largest number of directories.

    Raises:
        StreamingQueryException: the stream failed.
    """
    while query.lastProgress is None:
        query.awaitTermination(_POLL)
    most, begun, used = 0, time.monotonic(), [cpu_seconds()]
    for minute in range(1, size.minutes + 1):
        while time.monotonic() < begun + minute * _MINUTE:
            query.awaitTermination(_POLL)
            most = max(most, _directories(work))
        used.append(cpu_seconds())
    return [after - before for before, after in pairwise(used)], most


def _ends(query: StreamingQuery) -> list[float]:
    """Return the end time of each batch in seconds since the epoch."""
    ends = []
    for progress in query.recentProgress:
        if progress["numInputRows"]:
            begun = datetime.strptime(progress["timestamp"], "%Y-%m-%dT%H:%M:%S.%f%z")
            taken = progress["durationMs"]["triggerExecution"] / 1000
            ends.append(begun.timestamp() + taken)
    return ends


def rows_of_minutes(ends: Sequence[float], size: Size) -> list[int]:
    """Return the rows that were committed in each minute after the first batch.

    Args:
        ends: end times of the batches in seconds, in order.
        size: size of the stream.
    """
    first = ends[0]
    minutes = [int((end - first) // _MINUTE) for end in ends[1:]]
    return [size.rows * minutes.count(minute) for minute in range(size.minutes)]


def _check(spark: SparkSession, size: Size, reported: int) -> None:
    """Compare the table with the batches.

    The stream may have been stopped after a batch committed and before it reported the batch.
    """
    stored = product.query(spark, f"SELECT id, n, text FROM {_TABLE}")
    ((last,),) = product.query(spark, f"SELECT max(n) FROM {_TABLE}").collect()
    values = int(last) + 1
    if values % size.rows or values < reported * size.rows:
        raise AnswerError(f"{_TABLE} ends with {last} after {reported} batches of {size.rows}")
    expected = spark.range(values).selectExpr(f"{_key('id', size)} AS id", "id AS n")
    newest = expected.groupBy("id").agg({"n": "max"}).withColumnRenamed("max(n)", "n")
    whole = newest.selectExpr("id", "n", "concat('value ', n) AS text")
    if stored.exceptAll(whole).count() or whole.exceptAll(stored).count():
        raise AnswerError(f"{_TABLE} has other rows than {values // size.rows} batches")


def _directories(work: Path) -> int:
    """Return the number of bases and deltas of the table."""
    return product.layout_below(work / "warehouse" / _TABLE).directories
