"""Suite ``cost``: the cost of ACID tables against flat ORC, as ratios measured in one run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.functions import col, when
from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult, same_query, writing
from tpcds_bench.check import load
from tpcds_bench.measure import Contender
from tpcds_bench.tables import CODEC, databases, flat_table, maxima, names

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

ACID_DATABASE = "cost_acid"
FLAT_DATABASE = "cost_flat"

# The tables, each with the key that splits its load into two halves.
_TABLES = {"store_sales": "ss_ticket_number", "date_dim": "d_date_sk"}
_SMALL_ROWS = 1000
# First key of TPC-DS's date_dim.
_FIRST_DATE = 2415022


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Load the tables and measure the cases.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.

    Raises:
        AnswerError: a query returned different rows over ACID tables and flat ORC.
    """
    spark, data, work = stage.spark, stage.data, stage.work
    _load(spark, data)
    every_case = (
        *_reads(spark, data),
        _insert(spark, data, work),
        *_changes(spark, work),
        _small(spark),
    )
    return cases.measure(spark, every_case, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = f"Flat ORC has the codec of the ACID tables ({CODEC})."
    return cases.sections(data, "Cost of ACID tables", text, results)


def _load(spark: SparkSession, data: Dataset) -> None:
    """Load flat tables and ACID tables, and compact the ACID tables, so that reads use a base."""
    databases(spark, data, _TABLES, acid=ACID_DATABASE, flat=FLAT_DATABASE)
    for table, key in tqdm(_TABLES.items(), unit="table", desc="load"):
        flat_table(spark.table(f"source_{table}"), f"{FLAT_DATABASE}.{table}")
        product.create_table(spark, table, data.columns[table])
        rows = f"SELECT {names(data.columns[table])} FROM source_{table}"
        # Two inserts, because a major compaction leaves a single delta without a base unchanged.
        for half in (0, 1):
            product.execute(spark, f"INSERT INTO {table} {rows} WHERE {key} % 2 = {half}")
        product.compact(spark, table, "major")
    kept = {"d_date_sk", "d_date_id", "d_date", "d_year"}
    small = [column for column in data.columns["date_dim"] if column.name in kept]
    product.create_table(spark, "small", small)
    product.execute(
        spark,
        f"INSERT INTO small SELECT {names(small)} FROM source_date_dim"
        f" WHERE d_date_sk < {_FIRST_DATE + _SMALL_ROWS}",
    )


def _reads(spark: SparkSession, data: Dataset) -> tuple[Case, ...]:
    texts = {
        "count(*)": "SELECT count(*) FROM {0}.store_sales",
        "max of all columns": (
            f"SELECT {maxima(data.columns['store_sales'])} FROM {{0}}.store_sales"
        ),
        "join with date_dim": (
            "SELECT d_year, count(*), sum(ss_net_paid) FROM {0}.store_sales"
            " JOIN {0}.date_dim ON ss_sold_date_sk = d_date_sk GROUP BY d_year ORDER BY d_year"
        ),
    }
    return tuple(
        same_query(spark, name, 1.2, text.format(ACID_DATABASE), text.format(FLAT_DATABASE))
        for name, text in texts.items()
    )


def _insert(spark: SparkSession, data: Dataset, work: Path) -> Case:
    columns = data.columns["store_sales"]

    def create(_: int) -> None:
        product.execute(spark, "DROP TABLE IF EXISTS inserted")
        product.create_table(spark, "inserted", columns)

    def insert(_: int) -> None:
        load(spark, "inserted", columns, source="store_sales")

    return Case(
        name="INSERT ... SELECT",
        goal=0.5,
        subject=Contender(prepare=create, run=insert),
        yardstick=writing(work, lambda _: spark.table("source_store_sales")),
        against="Spark writing flat ORC",
    )


def _changes(spark: SparkSession, work: Path) -> tuple[Case, ...]:
    """Return the cases of UPDATE and DELETE.

    Each round changes another percent of the rows, so that it also reads deltas.
    """
    ticket = col("ss_ticket_number") % 100

    def update(number: int) -> None:
        product.execute(
            spark,
            "UPDATE store_sales SET ss_quantity = ss_quantity + 1"
            f" WHERE ss_ticket_number % 100 = {number}",
        )

    def delete(number: int) -> None:
        product.execute(
            spark, f"DELETE FROM store_sales WHERE ss_ticket_number % 100 = {50 + number}"
        )

    def updated(number: int) -> DataFrame:
        quantity = col("ss_quantity")
        changed = when(ticket == number, quantity + 1).otherwise(quantity)
        return spark.table(f"{FLAT_DATABASE}.store_sales").withColumn("ss_quantity", changed)

    def remaining(number: int) -> DataFrame:
        return spark.table(f"{FLAT_DATABASE}.store_sales").where(ticket != 50 + number)

    against = "rewriting the flat table with PySpark"
    return (
        Case(
            name="UPDATE 1 %",
            goal=1.0,
            subject=Contender(run=update),
            yardstick=writing(work, updated),
            against=against,
        ),
        Case(
            name="DELETE 1 %",
            goal=1.0,
            subject=Contender(run=delete),
            yardstick=writing(work, remaining),
            against=against,
        ),
    )


def _small(spark: SparkSession) -> Case:
    def update(number: int) -> None:
        product.execute(
            spark, f"UPDATE small SET d_year = d_year + 1 WHERE d_date_sk = {_FIRST_DATE + number}"
        )

    def select(number: int) -> None:
        product.query(
            spark, f"SELECT * FROM small WHERE d_date_sk = {_FIRST_DATE + number}"
        ).collect()

    return Case(
        name=f"UPDATE of one row of {_SMALL_ROWS}",
        goal=3.0,
        subject=Contender(run=update),
        yardstick=Contender(run=select),
        against="the SELECT that finds it",
    )
