"""Suites ``compaction`` and ``decay``: the cost of compactions, and of a table without them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import cases, product
from tpcds_bench.cases import Case, CaseResult, executing, querying, writing
from tpcds_bench.measure import Contender, Duel, duel
from tpcds_bench.report import Chart, Section, environment
from tpcds_bench.tables import CODEC, databases, flat_table, maxima, names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

_ACID, _FLAT = "upkeep_acid", "upkeep_flat"
_SOURCE = "source_store_sales"
_TABLE = f"{_ACID}.store_sales"
# Compactions to measure: name, kind of the compaction, goal, and the DELETEs before it.
_COMPACTIONS = {
    "minor, four inserts and two deletes": ("minor", 0.2, "ss_ticket_number % 1000 = {n}"),
    "major, deletes in few stripes": ("major", 0.3, "ss_ticket_number BETWEEN {n}0 AND {n}99"),
    "major, deletes in every stripe": ("major", 1.0, "ss_ticket_number % 1000 = {n}"),
}


def compaction(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> tuple[CaseResult, ...]:
    """Measure compactions against rewriting the flat table."""
    spark, columns = stage.spark, stage.data.columns["store_sales"]
    _open(stage)

    def flat(_: int) -> DataFrame:
        return spark.table(f"{_FLAT}.store_sales")

    def case(name: str) -> Case:
        kind, goal, where = _COMPACTIONS[name]

        def prepare(_: int) -> None:
            product.execute(spark, f"DROP TABLE IF EXISTS {_TABLE}")
            product.create_table(spark, _TABLE, columns)
            for part in range(4):
                rows = f"SELECT {names(columns)} FROM {_SOURCE} WHERE ss_ticket_number % 4 = {part}"
                product.execute(spark, f"INSERT INTO {_TABLE} {rows}")
            for number in (7, 77):
                product.execute(spark, f"DELETE FROM {_TABLE} WHERE {where.format(n=number)}")

        def compact(_: int) -> None:
            product.compact(spark, _TABLE, kind)

        return Case(
            name=name,
            goal=goal,
            subject=Contender(prepare=prepare, run=compact),
            yardstick=writing(stage.work, flat),
            against="rewriting the flat table with PySpark",
        )

    return cases.measure(spark, [case(name) for name in _COMPACTIONS], rounds=rounds, only=only)


def compaction_sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on compactions."""
    text = f"Flat ORC has the codec of the ACID tables ({CODEC})."
    return cases.sections(data, "Compaction", text, results)


def decay(stage: Stage, *, maintenance: int, rounds: int) -> tuple[Duel, ...]:
    """Measure a query over all columns before and after each of several rounds of changes.

    Args:
        stage: environment of the suite.
        maintenance: number of rounds of changes: each updates 1 % of the rows, deletes 1 %, and
            inserts the deleted rows again.
        rounds: rounds of each measurement.

    Returns:
        The query over the ACID table against the same query over the unchanged flat table.
    """
    spark, columns = stage.spark, stage.data.columns["store_sales"]
    _open(stage)
    product.create_table(spark, _TABLE, columns)
    product.execute(spark, f"INSERT OVERWRITE {_TABLE} SELECT {names(columns)} FROM {_SOURCE}")
    reading = f"SELECT {maxima(columns)} FROM"
    acid = executing(spark, lambda _: f"{reading} {_TABLE}")
    flat = querying(spark.sql, f"{reading} {_FLAT}.store_sales")
    duels = []
    with tqdm(total=maintenance + 1, unit="round of changes") as progress:
        for number in range(maintenance + 1):
            if number:
                _change(spark, names(columns), number)
            duels.append(duel(acid, flat, rounds=rounds, progress=lambda: None))
            progress.update()
    return tuple(duels)


def decay_sections(data: Dataset, results: Sequence[Duel]) -> tuple[Section, ...]:
    """Return the report on decay."""
    ratios = [result.wall_ratio for result in results]
    return (
        Section(
            title="Reads after rounds of changes",
            text=(
                f"{environment(data.scale)} Max of all columns, against the same over flat ORC in"
                " the same minute. A round updates 1 % of the rows, deletes 1 % and inserts these"
                f" again; nothing is compacted. After all rounds {ratios[-1] / ratios[0]:.2f} times"
                " what it was before (goal: at most 1.2)."
            ),
            headers=("rounds of changes", "ratio", "CPU ratio", "of the first"),
            rows=[
                (number, result.wall_ratio, result.cpu_ratio, result.wall_ratio / ratios[0])
                for number, result in enumerate(results)
            ],
            chart=Chart(
                unit="ratio of wall times to flat ORC",
                bars=[
                    (f"after {number} rounds", ratio, ratios[0] * 1.2)
                    for number, ratio in enumerate(ratios)
                ],
            ),
        ),
    )


def _open(stage: Stage) -> None:
    """Create the databases and the flat table."""
    databases(stage.spark, stage.data, ["store_sales"], acid=_ACID, flat=_FLAT)
    flat_table(stage.spark.table(_SOURCE), f"{_FLAT}.store_sales")


def _change(spark: SparkSession, selected: str, number: int) -> None:
    part = f"ss_ticket_number % 100 = {number}"
    other = f"ss_ticket_number % 100 = {50 + number}"
    for text in (
        f"UPDATE {_TABLE} SET ss_quantity = ss_quantity + 1 WHERE {part}",
        f"DELETE FROM {_TABLE} WHERE {other}",
        f"INSERT INTO {_TABLE} SELECT {selected} FROM {_SOURCE} WHERE {other}",
    ):
        product.execute(spark, text)
