"""Suite ``planning``: the time to plan queries over many deltas or many partitions.

It also measures checks and maintenance of these tables. The yardstick has a tenth of the deltas or
partitions, so a ratio of 10 means linear growth. Statements of one partition are executed, on a
table with a hundredth of the partitions as the yardstick. Queries that choose partitions not only
by constants are executed too. Their yardstick is flat ORC, where Spark chooses partitions at run
time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult
from tpcds_bench.measure import Contender

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.report import Section
    from tpcds_bench.session import Stage

_DATABASE = "planning"
# Statements of one partition.
_ONE = {
    "SELECT of one": "SELECT * FROM {}_partitions WHERE p = 7",
    "UPDATE of one": "UPDATE {}_partitions SET id = id + 1 WHERE p = 7",
    "INSERT into one": "INSERT INTO {}_partitions VALUES (7, 7)",
}
# Queries that choose partitions not only by constants.
_CHOSEN = {
    "ten chosen by a join": "SELECT count(*), max(id) FROM {0} JOIN days USING (p) WHERE month = 3",
    "the newest one": "SELECT max(id) FROM {0} WHERE p = (SELECT max(p) FROM {0})",
    "the last ten days": (
        "SELECT count(*), max(id) FROM {0} "
        "WHERE date_sub(current_date(), p) > date_sub(current_date(), 10)"
    ),
    "only their values asked": "SELECT max(p), count(DISTINCT p) FROM {0}",
}
_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def run(
    stage: Stage,
    *,
    deltas: int,
    partitions: int,
    rounds: int,
    only: Sequence[str] = (),
    metastore: str | None = None,
) -> tuple[CaseResult, ...]:
    """Create the tables and measure the cases.

    Args:
        stage: environment of the suite.
        deltas: number of deltas of the larger table.
        partitions: number of partitions of the larger table.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
        metastore: URI of a Hive Metastore on this machine, or path of an embedded metastore, for
            which only the statements of one partition are measured; None: all cases, on the
            embedded metastore of the session.
    """
    spark = stage.spark
    if metastore is not None:
        spark.conf.set("spark.acidsql.metastore", metastore)
        return _one_of_many(spark, partitions, rounds, only)
    product.create_database(spark, _DATABASE)
    for name, number in (("many", deltas), ("some", deltas // 10)):
        product.execute(spark, f"CREATE TABLE {name}_deltas (id BIGINT, v STRING) {_ACID}")
        for i in tqdm(range(number), desc=f"{number} deltas", unit="insert"):
            product.execute(spark, f"INSERT INTO {name}_deltas VALUES ({i}, 'v{i}')")
    sizes = {"many": partitions, "some": partitions // 10, "few": partitions // 100}
    for name, number in sizes.items():
        product.execute(
            spark, f"CREATE TABLE {name}_partitions (id BIGINT) PARTITIONED BY (p INT) {_ACID}"
        )
        for first in tqdm(range(0, number, 1000), desc=f"{number} partitions", unit="thousand"):
            product.execute(
                spark,
                f"INSERT INTO {name}_partitions SELECT id, CAST(id AS INT)"
                f" FROM range({first}, {min(number, first + 1000)}, 1, 1)",
            )
    for name, number in (("many", partitions // 5), ("some", partitions // 50)):
        product.execute(
            spark, f"CREATE TABLE {name}_changed (id BIGINT) PARTITIONED BY (p INT) {_ACID}"
        )
        product.execute(
            spark,
            f"INSERT INTO {name}_changed SELECT id, CAST(id DIV 2 AS INT)"
            f" FROM range(0, {number * 2}, 1, 1)",
        )
        product.execute(spark, f"DELETE FROM {name}_changed WHERE id % 2 = 1")
    _make_star(spark, partitions // 10)
    every_case = (
        _case(spark, f"{deltas} deltas", "EXPLAIN SELECT * FROM {}_deltas WHERE id = 7"),
        _case(
            spark,
            f"{partitions} partitions, ten of them meant",
            "EXPLAIN SELECT * FROM {}_partitions WHERE p BETWEEN 7 AND 16",
        ),
        *_of_one_partition(spark, partitions),
        _case(spark, f"{partitions} partitions, all meant", "EXPLAIN SELECT * FROM {}_partitions"),
        _case(
            spark,
            f"{partitions // 5} partitions, each with a deleted row",
            "EXPLAIN SELECT * FROM {}_changed",
        ),
        *(
            _run_case(spark, f"{partitions // 10} partitions, {name}", text)
            for name, text in _CHOSEN.items()
        ),
        _case(
            spark,
            f"{partitions} partitions, CHECK TABLE FAST",
            "CHECK TABLE {}_partitions FAST",
        ),
        _maintaining(spark, partitions),
    )
    return cases.measure(spark, every_case, rounds=rounds, only=only)


def _one_of_many(
    spark: SparkSession, partitions: int, rounds: int, only: Sequence[str]
) -> tuple[CaseResult, ...]:
    """Measure statements of one partition; a hundred partitions have a row, the others none."""
    product.create_database(spark, _DATABASE)
    for name, number in (("many", partitions), ("few", partitions // 100)):
        table = f"{name}_partitions"
        product.execute(spark, f"CREATE TABLE {table} (id BIGINT) PARTITIONED BY (p INT) {_ACID}")
        product.execute(
            spark, f"INSERT INTO {table} SELECT id, CAST(id AS INT) FROM range(0, 100, 1, 1)"
        )
        for first in tqdm(range(100, number, 1000), desc=f"{number} partitions", unit="thousand"):
            values = range(first, min(number, first + 1000))
            added = " ".join(f"PARTITION (p = {value})" for value in values)
            product.execute(spark, f"ALTER TABLE {table} ADD {added}")
    return cases.measure(spark, _of_one_partition(spark, partitions), rounds=rounds, only=only)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        "EXPLAIN of a query; beside flat ORC it is run. The goal for a filter on"
        " partitions and for deltas is 2 seconds."
    )
    return cases.sections(data, "Planning", text, results)


def _case(spark: SparkSession, name: str, text: str) -> Case:
    """Return the case of a statement that only plans over many deltas or partitions."""

    def telling(table: str) -> Contender:
        return Contender(run=lambda _: product.query(spark, text.format(table)).collect())

    return Case(
        name=name,
        goal=10.0,
        subject=telling("many"),
        yardstick=telling("some"),
        against="a tenth of them",
    )


def _of_one_partition(spark: SparkSession, partitions: int) -> list[Case]:
    """Return the cases of statements of one of many partitions, which are executed."""

    def executing(text: str, table: str) -> Contender:
        return Contender(run=lambda _: product.query(spark, text.format(table)).collect())

    return [
        Case(
            name=f"{partitions} partitions, {name}",
            goal=2.0,
            subject=executing(text, "many"),
            yardstick=executing(text, "few"),
            against="a hundredth of them",
        )
        for name, text in _ONE.items()
    ]


def _maintaining(spark: SparkSession, partitions: int) -> Case:
    """Return the case of a round of maintenance after a write to one partition."""

    def maintaining(table: str) -> Contender:
        def write(number: int) -> None:
            row = f"INSERT INTO {table}_partitions VALUES ({number}, {number})"
            product.execute(spark, row)

        return Contender(prepare=write, run=lambda _: product.maintain(spark))

    return Case(
        name=f"{partitions} partitions, maintenance after a write to one",
        goal=2.0,
        subject=maintaining("many"),
        yardstick=maintaining("some"),
        against="a tenth of them",
    )


def _make_star(spark: SparkSession, partitions: int) -> None:
    """Create a table that chooses ten partitions, and flat ORC files with the same partitions."""
    product.execute(spark, f"CREATE TABLE days (p INT, month INT) {_ACID}")
    product.execute(
        spark,
        f"INSERT INTO days SELECT CAST(id AS INT), CAST(id DIV 10 AS INT) FROM range({partitions})",
    )
    product.execute(
        spark, "CREATE TABLE flat_partitions (id BIGINT, p INT) USING orc PARTITIONED BY (p)"
    )
    product.execute(
        spark,
        "INSERT INTO flat_partitions SELECT id, CAST(id AS INT) AS p"
        f" FROM range(0, {partitions}, 1, 1)",
    )


def _run_case(spark: SparkSession, name: str, text: str) -> Case:
    """Return the case of a query that is run over the ACID table and over the flat table."""

    def counting(table: str) -> Contender:
        def run(_: int) -> None:
            product.query(spark, text.format(table)).collect()

        return Contender(run=run)

    return Case(
        name=name,
        goal=2.0,
        subject=counting("some_partitions"),
        yardstick=counting("flat_partitions"),
        against="flat ORC",
    )
