"""Suite ``changes``: INSERT, UPDATE, DELETE and MERGE.

They are compared with the SELECT that finds the rows, or with rewriting the flat table. Without a
table format, PySpark can change rows only by rewriting.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlparse

from pyspark.sql import functions as F
from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult, executing, writing
from tpcds_bench.peers.statements import on_key
from tpcds_bench.report import Chart, Section
from tpcds_bench.storage import sizes, written
from tpcds_bench.tables import CODEC, databases, flat_table, names

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

_ACID, _FLAT = "changes_acid", "changes_flat"
_SOURCE = "source_store_sales"
_APPENDED = 10_000
_REWRITING = "rewriting the flat table with PySpark"
_FINDING = "the SELECT that finds them"


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Load the tables and measure the cases.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    spark, data, work = stage.spark, stage.data, stage.work
    databases(spark, data, ["store_sales"], acid=_ACID, flat=_FLAT)
    flat_table(spark.table(_SOURCE), f"{_FLAT}.store_sales")
    selected = names(data.columns["store_sales"])
    for table, partition in (("store_sales", None), ("by_store", "ss_store_sk")):
        columns = sorted(data.columns["store_sales"], key=lambda c: c.name == partition)
        product.create_table(spark, table, columns, partitioned_by=partition)
        product.execute(spark, f"INSERT OVERWRITE {table} SELECT {names(columns)} FROM {_SOURCE}")
    tickets = spark.sql(f"SELECT max(ss_ticket_number) FROM {_SOURCE}").collect()[0][0]
    every_case = (
        *_few_rows(spark, tickets),
        *_percents(spark, work),
        *_ranges(spark, work, tickets),
        _merge(spark, work, selected),
        _append(spark, work, selected),
        _partitioned(spark, work),
    )
    return cases.measure(spark, every_case, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = f"Each round changes other rows. Flat ORC has the codec of the ACID tables ({CODEC})."
    return cases.sections(data, "Changes", text, results)


def storage(spark: SparkSession) -> tuple[Section, ...]:
    """Run one more statement of each kind, and return the report on the bytes that they wrote."""
    quantity = "ss_quantity = ss_quantity + 1"
    statements = {
        "UPDATE 1 %": f"UPDATE store_sales SET {quantity} WHERE ss_ticket_number % 100 = 99",
        "DELETE 1 %": "DELETE FROM store_sales WHERE ss_ticket_number % 100 = 98",
        "UPDATE of one row": f"UPDATE store_sales SET {quantity} WHERE {_one(97)}",
    }
    root = product.root(spark, f"{_ACID}.store_sales")
    flat = sum(sizes(Path(urlparse(_location(spark)).path)).values())
    rows: list[tuple[str, float, float]] = []
    for name, text in tqdm(statements.items(), desc="storage"):
        before = sizes(root)
        product.execute(spark, text)
        size = written(before, sizes(root))
        rows.append((name, size / 2**20, size / flat))
    return (
        Section(
            title="Bytes written",
            text=f"The flat table has {flat / 2**20:.1f} MiB, which a rewriting writes each time.",
            headers=("statement", "MiB", "part of the flat table"),
            rows=rows,
            chart=Chart(unit="MiB written", bars=[(name, size, None) for name, size, _ in rows]),
        ),
    )


def _location(spark: SparkSession) -> str:
    described = spark.sql(f"DESCRIBE EXTENDED {_FLAT}.store_sales").collect()
    return str(next(row.data_type for row in described if row.col_name == "Location"))


def _one(number: int) -> str:
    """Return a condition on one ticket, which has about a dozen rows."""
    return f"ss_ticket_number = {1000 + number}"


def _few_rows(spark: SparkSession, tickets: int) -> tuple[Case, ...]:
    """Return the cases that change few rows, where finding the rows is most of the work."""

    def scattered(number: int) -> str:
        # 0.01 % of the tickets, spread over the whole table.
        step = max(1, tickets // 100)
        chosen = ", ".join(str(n) for n in range(7 + number, tickets, step))
        return f"ss_ticket_number IN ({chosen}) AND ss_item_sk % 10 = 0"

    def second(number: int) -> str:
        return _one(500 + number)

    changes: dict[str, tuple[float, str, Callable[[int], str]]] = {
        "UPDATE of one ticket": (2.0, "UPDATE store_sales SET ss_quantity = 7", _one),
        "DELETE of one ticket": (1.3, "DELETE FROM store_sales", second),
        "DELETE of 0.01 % scattered": (1.3, "DELETE FROM store_sales", scattered),
    }
    return tuple(
        Case(
            name=name,
            goal=goal,
            subject=executing(spark, partial(_changing, statement, where)),
            yardstick=executing(spark, partial(_changing, "SELECT * FROM store_sales", where)),
            against=_FINDING,
        )
        for name, (goal, statement, where) in changes.items()
    )


def _changing(statement: str, where: Callable[[int], str], number: int) -> str:
    return f"{statement} WHERE {where(number)}"


def _percents(spark: SparkSession, work: Path) -> tuple[Case, ...]:
    """Return the cases that change scattered rows: in each round another part of the table."""

    def remaining(number: int) -> DataFrame:
        return _flat(spark).where(f"ss_ticket_number % 100 <> {50 + number}")

    def delete(number: int) -> str:
        return f"DELETE FROM store_sales WHERE ss_ticket_number % 100 = {50 + number}"

    return (
        _update(spark, work, percent=1, goal=0.5),
        _update(spark, work, percent=20, goal=1.0),
        Case(
            name="DELETE of 1 % scattered",
            goal=0.3,
            subject=executing(spark, delete),
            yardstick=writing(work, remaining),
            against=_REWRITING,
        ),
    )


def _flat(spark: SparkSession) -> DataFrame:
    return spark.table(f"{_FLAT}.store_sales")


def _updating(divisor: int, number: int) -> str:
    return (
        "UPDATE store_sales SET ss_quantity = ss_quantity + 1"
        f" WHERE ss_ticket_number % {divisor} = {number % divisor}"
    )


def _update(spark: SparkSession, work: Path, *, percent: int, goal: float) -> Case:
    divisor = 100 // percent

    def updated(number: int) -> DataFrame:
        is_updated = F.col("ss_ticket_number") % divisor == number % divisor
        new = F.when(is_updated, F.col("ss_quantity") + 1).otherwise(F.col("ss_quantity"))
        return _flat(spark).withColumn("ss_quantity", new)

    return Case(
        name=f"UPDATE of {percent} % scattered",
        goal=goal,
        subject=executing(spark, partial(_updating, divisor)),
        yardstick=writing(work, updated),
        against=_REWRITING,
    )


def _ranges(spark: SparkSession, work: Path, tickets: int) -> tuple[Case, ...]:
    """Return the cases that change a contiguous range of rows."""
    size = tickets // 40  # 2.5 %

    def bounds(number: int) -> str:
        return f"BETWEEN {number * size + 1} AND {(number + 1) * size}"

    return (
        Case(
            name="DELETE of a range of 2.5 %",
            goal=0.3,
            subject=executing(
                spark, lambda n: f"DELETE FROM store_sales WHERE ss_ticket_number {bounds(n)}"
            ),
            yardstick=writing(
                work,
                lambda n: _flat(spark).where(f"ss_ticket_number NOT {bounds(n)}"),
            ),
            against=_REWRITING,
        ),
    )


def merge_source(number: int, selected: str) -> str:
    """Return a query of one in 60 tickets, with a new ticket number in every third row.

    Args:
        number: which of the 60.
        selected: names of all columns, separated by commas.
    """
    moved = f"IF(ss_item_sk % 3 = 0, ss_ticket_number + {10**9 * (number + 1)}, ss_ticket_number)"
    columns = selected.replace("ss_ticket_number", f"{moved} AS ss_ticket_number")
    return f"SELECT {columns} FROM {_SOURCE} WHERE ss_ticket_number % 60 = {number}"


def merge_all(table: str, number: int, selected: str) -> str:
    """Return a MERGE with the rows of :func:`merge_source` that takes every branch."""
    return (
        f"MERGE INTO {table} t USING ({merge_source(number, selected)}) s ON {on_key()}"
        " WHEN MATCHED AND s.ss_item_sk % 3 = 1 THEN DELETE"
        " WHEN MATCHED THEN UPDATE SET ss_quantity = s.ss_quantity + 1"
        " WHEN NOT MATCHED THEN INSERT *"
    )


def _merge(spark: SparkSession, work: Path, selected: str) -> Case:
    """Return the case of a MERGE that updates, deletes and inserts 1.7 % of the rows."""
    values = {
        name: "IF(s.ss_item_sk IS NULL, t.ss_quantity, s.ss_quantity + 1)"
        if name == "ss_quantity"
        else f"coalesce(t.{name}, s.{name})"
        for name in selected.split(", ")
    }
    kept = ", ".join(f"{value} AS {name}" for name, value in values.items())

    def merged(number: int) -> DataFrame:
        return spark.sql(
            f"SELECT {kept} FROM {_FLAT}.store_sales t"
            f" FULL OUTER JOIN ({merge_source(number, selected)}) s ON {on_key()}"
            " WHERE s.ss_item_sk IS NULL OR t.ss_item_sk IS NULL OR s.ss_item_sk % 3 <> 1"
        )

    return Case(
        name="MERGE of 1.7 % with all branches",
        goal=0.5,
        subject=executing(spark, lambda n: merge_all("store_sales", n, selected)),
        yardstick=writing(work, merged),
        against=_REWRITING,
    )


def _append(spark: SparkSession, work: Path, selected: str) -> Case:
    def rows(number: int) -> str:
        first = number * _APPENDED
        return (
            f"SELECT {selected} FROM {_SOURCE} WHERE ss_ticket_number > {first} LIMIT {_APPENDED}"
        )

    return Case(
        name=f"append of {_APPENDED} rows",
        goal=1.2,
        subject=executing(spark, lambda n: f"INSERT INTO store_sales {rows(n)}"),
        yardstick=writing(work, lambda n: spark.sql(rows(n))),
        against="the same to flat ORC",
    )


def _partitioned(spark: SparkSession, work: Path) -> Case:
    def update(number: int) -> str:
        return (
            "UPDATE by_store SET ss_quantity = ss_quantity + 1"
            f" WHERE ss_store_sk = {1 + number % 6} AND ss_ticket_number % 100 = {number}"
        )

    def updated(number: int) -> DataFrame:
        is_updated = (F.col("ss_store_sk") == 1 + number % 6) & (
            F.col("ss_ticket_number") % 100 == number
        )
        new = F.when(is_updated, F.col("ss_quantity") + 1).otherwise(F.col("ss_quantity"))
        rows = _flat(spark).where(f"ss_store_sk = {1 + number % 6}")
        return rows.withColumn("ss_quantity", new)

    return Case(
        name="UPDATE of 1 % of a partition",
        goal=1.0,
        subject=executing(spark, update),
        yardstick=writing(work, updated),
        against="rewriting the partition with PySpark",
    )
