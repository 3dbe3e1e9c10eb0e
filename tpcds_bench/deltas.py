"""Suite ``deltas``: the cost of pending deletes and inserts for a reader.

The tables and queries are from the presentation of Presto's ACID support: store_sales as flat ORC,
as a base, and with the rows of one or five customers deleted and inserted again.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult, same_query
from tpcds_bench.tables import CODEC, databases, flat_table, maxima, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

_ACID, _FLAT = "deltas_acid", "deltas_flat"
_SOURCE = "source_store_sales"
_CUSTOMERS = 5
# Names of the tables; the number of customers with deleted rows, and with rows inserted again.
_TABLES = {
    "base": (0, 0),
    "base + 1 delete": (1, 0),
    "base + 1 delete + 1 insert": (1, 1),
    "base + 5 deletes": (5, 0),
    "base + 5 deletes + 5 inserts": (5, 5),
}
# Names of tables from which one DELETE deletes scattered rows: the deleted tickets, and the goal of
# the ratio to flat ORC without these rows.
_PARTS = {
    "base less 1 %": ("ss_ticket_number % 100 = 7", 1.15),
    "base less 10 %": ("ss_ticket_number % 10 = 7", 1.3),
    "base less 50 %": ("ss_ticket_number % 2 = 1", 1.3),
}
# The table with one DELETE from which changes are read, and the goals of the ratio to flat ORC.
_CHANGED, _CHANGE_GOALS = "base less 10 %", {"insert": 1.2, "delete": 1.5}
# Goals of the ratio to flat ORC, by query.
_GOALS = {
    "count(*)": 1.2,
    "count(*) of 30 days": 1.2,
    "max of all columns": 1.05,
    "max of all columns of 30 days": 0.6,
    "max of all columns of 0.1 %": 0.6,
}


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Create the tables, and measure each query over each table.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.

    Raises:
        AnswerError: a query returned different rows over an ACID table and flat ORC.
    """
    spark, data = stage.spark, stage.data
    databases(spark, data, ["store_sales"], acid=_ACID, flat=_FLAT)
    customers = [
        row[0]
        for row in spark.sql(
            f"SELECT ss_customer_sk FROM {_SOURCE} WHERE ss_customer_sk IS NOT NULL "
            f"GROUP BY ss_customer_sk ORDER BY count(*) DESC, 1 LIMIT {_CUSTOMERS}"
        ).collect()
    ]
    every_case: list[Case] = []
    for number, (name, (deletes, inserts)) in enumerate(tqdm(_TABLES.items(), desc="load")):
        table = f"store_sales_{number}"
        _make(spark, data, table, customers[:deletes], customers[:inserts])
        _make_flat(spark, table, customers[:deletes] if deletes > inserts else ())
        every_case += _queries(spark, data, name, table)
    every_case += [
        _less(spark, data, f"store_sales_less_{number}", name, *part)
        for number, (name, part) in enumerate(tqdm(_PARTS.items(), desc="load"))
    ]
    every_case += _changes(spark, data)
    return cases.measure(spark, every_case, rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        f"Flat ORC has the same rows and the codec of the ACID tables ({CODEC}). The rows of one "
        "customer are deleted by one DELETE, and inserted again by one INSERT; tickets that a base "
        "is less are deleted by one DELETE."
    )
    return cases.sections(data, "Pending deletes and inserts", text, results)


def _less(
    spark: SparkSession, data: Dataset, table: str, name: str, deleted: str, goal: float
) -> Case:
    """Return the case of reading all columns of a table with a part of its rows deleted."""
    _make(spark, data, table, (), ())
    product.execute(spark, f"DELETE FROM {table} WHERE {deleted}")
    flat_table(spark.table(_SOURCE).where(f"NOT {deleted}"), f"{_FLAT}.{table}")
    columns = maxima(data.columns["store_sales"])
    texts = [f"SELECT {columns} FROM {place}.{table}" for place in (_ACID, _FLAT)]
    return same_query(spark, f"{name}: max of all columns", goal, *texts)


def _changes(spark: SparkSession, data: Dataset) -> list[Case]:
    """Return the cases of changes, against reading all rows from flat ORC.

    The base inserted all rows, and a tenth of the rows was deleted.
    """
    columns = maxima(data.columns["store_sales"])
    number, (deleted, _) = list(_PARTS).index(_CHANGED), _PARTS[_CHANGED]
    changes = f"table_changes('{_ACID}.store_sales_less_{number}', 1)"
    all_rows = f"SELECT {columns} FROM {_FLAT}.store_sales_0"
    return [
        same_query(
            spark,
            f"changes of {_CHANGED}: max of all columns of {kind}",
            _CHANGE_GOALS[kind],
            f"SELECT {columns} FROM {changes} WHERE _change_type = '{kind}'",
            all_rows if kind == "insert" else f"{all_rows} WHERE {deleted}",
        )
        for kind in _CHANGE_GOALS
    ]


def _make(
    spark: SparkSession,
    data: Dataset,
    table: str,
    deleted: Sequence[int],
    inserted: Sequence[int],
) -> None:
    columns = data.columns["store_sales"]
    product.create_table(spark, table, columns)
    selected = f"SELECT {names(columns)} FROM {_SOURCE}"
    # Write the rows as a base, because a compaction does not change a single delta.
    product.execute(spark, f"INSERT OVERWRITE {table} {selected}")
    for customer in deleted:
        product.execute(spark, f"DELETE FROM {table} WHERE ss_customer_sk = {customer}")
    for customer in inserted:
        product.execute(spark, f"INSERT INTO {table} {selected} WHERE ss_customer_sk = {customer}")


def _make_flat(spark: SparkSession, table: str, without: Sequence[int]) -> None:
    rows = spark.table(_SOURCE)
    if without:
        listed = ", ".join(map(str, without))
        rows = rows.where(f"ss_customer_sk IS NULL OR ss_customer_sk NOT IN ({listed})")
    flat_table(rows, f"{_FLAT}.{table}")


def _queries(spark: SparkSession, data: Dataset, name: str, table: str) -> list[Case]:
    all_columns = maxima(data.columns["store_sales"])
    first = spark.sql(f"SELECT min(ss_sold_date_sk) FROM {_SOURCE}").collect()[0][0]
    days = f"ss_sold_date_sk BETWEEN {first + 600} AND {first + 629}"
    rare = "ss_net_paid > 18000"
    texts = {
        "count(*)": ("count(*)", ""),
        "count(*) of 30 days": ("count(*)", f" WHERE {days}"),
        "max of all columns": (all_columns, ""),
        "max of all columns of 30 days": (all_columns, f" WHERE {days}"),
        "max of all columns of 0.1 %": (all_columns, f" WHERE {rare}"),
    }
    return [
        same_query(
            spark,
            f"{name}: {query}",
            _GOALS[query],
            f"SELECT {columns} FROM {_ACID}.{table}{where}",
            f"SELECT {columns} FROM {_FLAT}.{table}{where}",
        )
        for query, (columns, where) in texts.items()
    ]
