"""Suite ``source``: ``format("acidsql")`` against ``acidsql.table`` and ``INSERT INTO``.

A session creates the table: rows of ``store_sales``, one in a hundred updated.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import acidsql
from tpcds_bench.cases import AnswerError
from tpcds_bench.report import Section

_TABLE, _TARGET = "source_sales", "source_target"
_ROWS = 1_000_000
_APPENDED = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Times of one action, in seconds of wall-clock time.

    Args:
        name: name of the action.
        source: seconds of each round with ``format("acidsql")``.
        session: seconds of each round with the session's functions.
    """

    name: str
    source: tuple[float, ...]
    session: tuple[float, ...]

    @property
    def medians(self) -> tuple[float, float]:
        """Medians of both times."""
        return statistics.median(self.source), statistics.median(self.session)


def run(spark: SparkSession, sales: Path, *, rounds: int) -> tuple[Result, ...]:
    """Read a table as a whole and in parts, and append rows, in both ways.

    Args:
        spark: session.
        sales: Parquet files of ``store_sales``.
        rounds: rounds after one warm-up round.

    Raises:
        AnswerError: the two ways read different rows.
    """
    count = _make(spark, sales)
    acidsql.register(spark)
    _check(spark)
    three = ("id", "ss_item_sk", "ss_net_paid")
    one = f"id = {count // 2}"
    readings: Sequence[tuple[str, tuple[str, ...] | None, str | None]] = (
        ("all columns", None, None),
        ("three columns", three, None),
        ("one row, three columns", three, one),
    )
    reads = [
        _measured(
            name,
            partial(_read_by_source, spark, names, wanted),
            partial(_read_by_session, spark, names, wanted),
            rounds,
        )
        for name, names, wanted in readings
    ]
    rows = acidsql.table(spark, _TABLE).limit(_APPENDED).cache()
    rows.count()
    database = spark.catalog.currentDatabase()

    def append_by_source() -> None:
        writer = rows.write.format("acidsql").mode("append")
        writer.save(f"{database}.{_TARGET}")

    def append_by_session() -> None:
        acidsql.sql(spark, f"INSERT INTO {_TARGET} SELECT * FROM {{rows}}", rows=rows)

    appended = _measured(f"append {_APPENDED:,} rows", append_by_source, append_by_session, rounds)
    return (*reads, appended)


def sections(results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title='format("acidsql")',
            text=(
                f"Up to {_ROWS:,} rows of store_sales with an id, one in a hundred updated; beside "
                "acidsql.table and INSERT INTO. An option names three columns to the source. "
                "Medians of rounds, in seconds."
            ),
            headers=("action", 'format("acidsql")', "acidsql", "ratio"),
            rows=[
                (result.name, *result.medians, result.medians[0] / result.medians[1])
                for result in results
            ],
        ),
    )


def _make(spark: SparkSession, sales: Path) -> int:
    """Create the tables; return the number of rows of the table that is read."""
    spark.read.parquet(str(sales)).limit(_ROWS).createOrReplaceTempView("sales_rows")
    properties = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    number = "row_number() OVER (ORDER BY ss_ticket_number, ss_item_sk)"
    acidsql.sql(
        spark, f"CREATE TABLE {_TABLE} {properties} AS SELECT {number} AS id, * FROM sales_rows"
    )
    acidsql.sql(spark, f"UPDATE {_TABLE} SET ss_quantity = 0 WHERE id % 100 = 1")
    acidsql.sql(spark, f"CREATE TABLE {_TARGET} {properties} AS SELECT * FROM {_TABLE} LIMIT 0")
    return int(acidsql.table(spark, _TABLE).count())


def _check(spark: SparkSession) -> None:
    """Compare the counts and sums that both ways read."""
    sums = ("count(1)", "sum(ss_quantity)", "sum(ss_net_paid)")
    both = [
        tuple(frame.selectExpr(*sums).collect()[0])
        for frame in (_source(spark, None), acidsql.table(spark, _TABLE))
    ]
    if both[0] != both[1]:
        raise AnswerError(f"the source's count and sums are {both[0]}, the session's {both[1]}")


def _source(spark: SparkSession, names: Sequence[str] | None) -> DataFrame:
    reader = spark.read.format("acidsql")
    if names is not None:
        reader = reader.option("columns", ",".join(names))
    return reader.load(f"{spark.catalog.currentDatabase()}.{_TABLE}")


def _chosen(frame: DataFrame, names: Sequence[str] | None, rows: str | None) -> DataFrame:
    chosen = frame if rows is None else frame.where(rows)
    return chosen if names is None else chosen.select(*names)


def _read_by_source(spark: SparkSession, names: Sequence[str] | None, rows: str | None) -> None:
    _drain(_chosen(_source(spark, names), names, rows))


def _read_by_session(spark: SparkSession, names: Sequence[str] | None, rows: str | None) -> None:
    _drain(_chosen(acidsql.table(spark, _TABLE), names, rows))


def _drain(frame: DataFrame) -> None:
    """Compute all values of all rows."""
    frame.write.format("noop").mode("overwrite").save()


def _measured(
    name: str, source: Callable[[], None], session: Callable[[], None], rounds: int
) -> Result:
    """Run both actions in turns: one warm-up round, then ``rounds`` rounds."""
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(1 + rounds):
        for action, seconds in zip((source, session), times, strict=True):
            begun = time.perf_counter()
            action()
            seconds.append(time.perf_counter() - begun)
    return Result(name=name, source=tuple(times[0][1:]), session=tuple(times[1][1:]))
