"""Suite ``columns``: statements on a row of a table with very many columns, against flat ORC.

Spark cannot run UPDATE, DELETE and MERGE on flat ORC. They are compared with statements that write
all rows, with the same change, to another table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from pyspark.sql import SparkSession

from tpcds_bench import product
from tpcds_bench.measure import Contender, Duel, duel
from tpcds_bench.report import Section

_TYPES = ("INT", "STRING", "DOUBLE", "BIGINT")
_FLAT, _COPY, _ACID = "default.wide_flat", "default.wide_copy", "wide_acid"
# Index of the column that is changed.
_CHANGED = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """Cost of one statement.

    Args:
        name: name of the statement.
        costs: costs of acidsql, and of Spark on flat ORC.
    """

    name: str
    costs: Duel


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Statement in two forms, each with a place for the number of a round.

    Args:
        name: name in the report.
        acid: text for the ACID table.
        flat: text for flat ORC.
    """

    name: str
    acid: Callable[[int], str]
    flat: Callable[[int], str]


def run(
    spark: SparkSession, *, columns: int, rounds: int, progress: Callable[[], object]
) -> tuple[Result, ...]:
    """Measure each statement in turns with its counterpart.

    Args:
        spark: session.
        columns: number of columns.
        rounds: rounds after one warm-up round.
        progress: called after each round.
    """
    product.create_database(spark, "wide")
    spark.sql(f"CREATE TABLE {_COPY} ({_definition(columns)}) USING ORC")
    results = []
    for statement in _statements(columns):
        costs = duel(
            Contender(run=partial(_run_acid, spark, statement)),
            Contender(run=partial(_run_flat, spark, statement)),
            rounds=rounds,
            progress=progress,
            warm_up=1,
        )
        results.append(Result(name=statement.name, costs=costs))
    return tuple(results)


def _run_acid(spark: SparkSession, statement: Statement, number: int) -> None:
    product.execute(spark, statement.acid(number))


def _run_flat(spark: SparkSession, statement: Statement, number: int) -> None:
    spark.sql(statement.flat(number)).collect()


def sections(columns: int, results: Sequence[Result]) -> tuple[Section, ...]:
    """Return the report on a run."""
    return (
        Section(
            title=f"{columns:,} columns",
            text=(
                "Statements on one row, beside Spark on flat ORC; for a change it rewrites the "
                "table. Ratios are medians of rounds, the other columns seconds of the last one."
            ),
            headers=("statement", "acidsql", "flat ORC", "ratio", "processor ratio"),
            rows=[
                (
                    result.name,
                    result.costs.subject[-1].wall,
                    result.costs.yardstick[-1].wall,
                    result.costs.wall_ratio,
                    result.costs.cpu_ratio,
                )
                for result in results
            ],
        ),
    )


def _definition(columns: int) -> str:
    return ", ".join(f"c{i} {_TYPES[i % len(_TYPES)]}" for i in range(columns))


def _statements(columns: int) -> tuple[Statement, ...]:
    definition = _definition(columns)
    others = ", ".join(str(i) if i % 4 != 1 else f"'{i}'" for i in range(1, columns))
    unchanged = ", ".join(f"c{i}" for i in range(columns) if i != _CHANGED)

    def create(number: int) -> str:
        properties = "STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
        return f"CREATE TABLE {_ACID}_{number} ({definition}) {properties}"

    def merge(number: int) -> str:
        return (
            f"MERGE INTO {_ACID}_0 t USING (SELECT 0 AS id, {number} AS v UNION ALL "
            f"SELECT {1000 + number}, 1) s ON t.c0 = s.id "
            f"WHEN MATCHED THEN UPDATE SET c{_CHANGED} = v "
            f"WHEN NOT MATCHED THEN INSERT (c0, c{_CHANGED}) VALUES (id, v)"
        )

    def copy(value: str, wanted: str = "true") -> str:
        return (
            f"INSERT OVERWRITE {_COPY} (c{_CHANGED}, {unchanged}) "
            f"SELECT {value}, {unchanged} FROM {_FLAT}_0 WHERE {wanted}"
        )

    def changed(number: int) -> str:
        return copy(f"CASE WHEN c0 = 0 THEN {number} ELSE c{_CHANGED} END")

    return (
        Statement(
            name="CREATE TABLE",
            acid=create,
            flat=lambda number: f"CREATE TABLE {_FLAT}_{number} ({definition}) USING ORC",
        ),
        Statement(
            name="INSERT",
            acid=lambda number: f"INSERT INTO {_ACID}_0 VALUES ({number}, {others})",
            flat=lambda number: f"INSERT INTO {_FLAT}_0 VALUES ({number}, {others})",
        ),
        Statement(
            name="UPDATE",
            acid=lambda number: f"UPDATE {_ACID}_0 SET c{_CHANGED} = {number} WHERE c0 = 0",
            flat=changed,
        ),
        Statement(name="MERGE", acid=merge, flat=changed),
        Statement(
            name="DELETE",
            acid=lambda number: f"DELETE FROM {_ACID}_0 WHERE c0 = {number}",
            flat=lambda number: copy(f"c{_CHANGED}", f"c0 <> {number}"),
        ),
        Statement(
            name="SELECT",
            acid=lambda _: f"SELECT * FROM {_ACID}_0",
            flat=lambda _: f"SELECT * FROM {_FLAT}_0",
        ),
    )
