"""Suite ``partitions``: changes of a row in each of many partitions.

The yardstick is Spark's write of the same number of rows to flat ORC with the same partitions.

Both create a file in each partition. A change also reads the table, and records the deleted rows.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult
from tpcds_bench.measure import Contender
from tpcds_bench.tables import CODEC

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

_GOAL = 1.5
_ORIGINAL, _COPY = "original", "changed"
# Rows of a partition. Each round changes other rows.
_ROWS = 60
_COLUMNS = "id BIGINT, n INT, v INT, s STRING"
_VALUES = (
    "id, CAST(id DIV {0} AS INT) AS n, {1} AS v, repeat('x', 20) AS s, CAST(id % {0} AS INT) AS p"
)
_MERGE = (
    "MERGE INTO {table} t USING (SELECT id FROM range({rows}) WHERE id DIV {partitions} = {first})"
    " s ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = v + 1"
)
# Number of rows of a partition that a round changes, and the change. Five rows are too many for the
# driver.
_CHANGES = {
    "UPDATE of a row": (1, "UPDATE {table} SET v = v + 1 WHERE n = {first}"),
    "DELETE of a row": (1, "DELETE FROM {table} WHERE n = {first}"),
    "MERGE of a row": (1, _MERGE),
    "UPDATE of five rows": (
        5,
        "UPDATE {table} SET v = v + 1 WHERE n >= {first} AND n < {first} + 5",
    ),
}


def run(
    stage: Stage, *, partitions: int, rounds: int, only: Sequence[str] = ()
) -> tuple[CaseResult, ...]:
    """Create the table, and measure each case.

    Args:
        stage: environment of the suite.
        partitions: number of partitions.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    product.create_database(stage.spark, "partitions_acid")
    _make(stage.spark, partitions)
    every_case = [
        _case(stage, f"{name} in each of {partitions} partitions", partitions, rows, text)
        for name, (rows, text) in _CHANGES.items()
    ]
    return cases.measure(stage.spark, every_case, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        "Each round changes a table of one insertion. Flat ORC has the codec of the ACID tables"
        f" ({CODEC})."
    )
    return cases.sections(data, "Changes of many partitions", text, results)


def _make(spark: SparkSession, partitions: int) -> None:
    """Create the table that each round copies."""
    product.execute(
        spark,
        f"CREATE TABLE {_ORIGINAL} ({_COLUMNS}) PARTITIONED BY (p INT) STORED AS ORC"
        " TBLPROPERTIES ('transactional' = 'true')",
    )
    values = _VALUES.format(partitions, "0")
    # Use one task, so that each partition has one file.
    every = f"range(0, {partitions * _ROWS}, 1, 1)"
    product.execute(spark, f"INSERT INTO {_ORIGINAL} SELECT {values} FROM {every}")


def _case(stage: Stage, title: str, partitions: int, rows: int, text: str) -> Case:
    spark = stage.spark
    words = {"table": _COPY, "partitions": partitions, "rows": partitions * _ROWS}

    def statement(number: int) -> str:
        return text.format(**words, first=number * rows)

    return Case(
        name=title,
        goal=_GOAL,
        subject=_changing(spark, statement, partitions * rows),
        yardstick=_writing(spark, stage.work / "flat", partitions, rows),
        against="writing as many rows to flat ORC",
    )


def _changing(spark: SparkSession, statement: Callable[[int], str], rows: int) -> Contender:
    def prepare(_: int) -> None:
        product.execute(spark, f"DROP TABLE IF EXISTS {_COPY}")
        product.execute(spark, f"CREATE TABLE {_COPY} CLONE {_ORIGINAL}")

    def run(number: int) -> None:
        changed = product.execute(spark, statement(number))
        if changed != rows:
            raise cases.AnswerError(f"{changed} rows in place of {rows}: {statement(number)}")

    return Contender(run=run, prepare=prepare)


def _writing(spark: SparkSession, target: Path, partitions: int, rows: int) -> Contender:
    def write(number: int) -> None:
        values = _VALUES.format(partitions, str(number))
        frame = spark.sql(f"SELECT {values} FROM range(0, {partitions * rows}, 1, 1)")
        writer = frame.write.format("orc").option("compression", CODEC)
        writer.partitionBy("p").save(target.as_uri())

    return Contender(run=write, prepare=lambda _: shutil.rmtree(target, ignore_errors=True))
