"""Suite ``maintenance``: DML and compaction; every table is checked after every step."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.check import (
    Comparison,
    Mismatch,
    affected_mismatch,
    compare_table,
    load,
)
from tpcds_bench.data import duckdb_with
from tpcds_bench.report import Section, environment
from tpcds_bench.script import (
    PARTITION_COLUMN,
    PARTITIONED,
    SALES,
    TABLES,
    Compact,
    Step,
    partitioned_columns,
    script,
)
from tpcds_bench.tables import source_views

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import SparkSession

    from tpcds_bench.data import Column, Dataset
    from tpcds_bench.session import Stage

DATABASE = "tpcds_maintenance"
"""The ACID database of this suite."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """Result of one step.

    Args:
        step: name of the step.
        seconds: wall time of its statements over ACID tables.
        check_seconds: wall time of DuckDB's statements and of the comparison of all tables.
        affected: number of rows that its statements changed.
        tables: comparison of every table.
        layouts: directories of each copy of ``store_sales``.
        mismatches: all differences from DuckDB.
    """

    step: str
    seconds: float
    check_seconds: float
    affected: int
    tables: tuple[Comparison, ...]
    layouts: tuple[product.Layout, ...]
    mismatches: tuple[Mismatch, ...]


def run(stage: Stage) -> tuple[StepResult, ...]:
    """Load the tables, and run the script to its end or to the first step with a mismatch."""
    spark, data = stage.spark, stage.data
    columns: Mapping[str, Sequence[Column]] = {
        **{table: data.columns[table] for table in TABLES},
        PARTITIONED: partitioned_columns(data.columns["store_sales"]),
    }
    duck = duckdb_with(data, TABLES)
    names = ", ".join(column.name for column in columns[PARTITIONED])
    duck.execute(f"CREATE TABLE {PARTITIONED} AS SELECT {names} FROM store_sales")
    source_views(spark, data, TABLES)
    product.create_database(spark, DATABASE)

    results: list[StepResult] = []
    steps = script(columns)
    with tqdm(total=len(steps) + 1, unit="step") as progress:
        for result in _results(spark, duck, columns, steps):
            results.append(result)
            progress.set_postfix_str(result.step)
            progress.update()
            if result.mismatches:
                break
    return tuple(results)


def sections(data: Dataset, results: Sequence[StepResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    mismatches = [(result.step, mismatch) for result in results for mismatch in result.mismatches]
    tables = len(results[0].tables)
    verdict = (
        "**A step left a table that differs from DuckDB's.**"
        if mismatches
        else f"After each of {len(results)} steps all {tables} tables equal DuckDB's:"
        " row count, per-column counts and sums or hashes, and a hash of whole rows."
    )
    steps = Section(
        title="TPC-DS maintenance",
        text=(
            f"{environment(data.scale)} {verdict} Directories are counted as"
            " base + delta + delete delta, all partitions together."
        ),
        headers=(
            "step",
            "seconds",
            "check seconds",
            "rows changed",
            "rows of store_sales",
            *(f"directories of {table}" for table in SALES),
        ),
        rows=[
            (
                result.step,
                result.seconds,
                result.check_seconds,
                result.affected,
                *(t.rows for t in result.tables if t.table == "store_sales"),
                *(str(layout) for layout in result.layouts),
            )
            for result in results
        ],
    )
    if not mismatches:
        return (steps,)
    return (
        steps,
        Section(
            title="Mismatches",
            headers=("step", "table", "column", "measure", "DuckDB", "acidsql"),
            rows=[
                (step, m.table, d.column, d.measure, str(d.expected), str(d.actual))
                for step, m in mismatches
                for d in (m.difference,)
            ],
        ),
    )


def _results(
    spark: SparkSession,
    duck: Any,
    columns: Mapping[str, Sequence[Column]],
    steps: Sequence[Step],
) -> Iterator[StepResult]:
    started = time.perf_counter()
    loaded = 0
    mismatches: list[Mismatch] = []
    for table, table_columns in columns.items():
        partition = PARTITION_COLUMN if table == PARTITIONED else None
        product.create_table(spark, table, table_columns, partitioned_by=partition)
        source = "store_sales" if table == PARTITIONED else table
        count = load(spark, table, table_columns, source=source)
        (expected,) = duck.execute(f"SELECT count(*) FROM {table}").fetchone()
        mismatches += affected_mismatch(table, expected, count)
        loaded += count or 0
    seconds = time.perf_counter() - started
    yield _checked(spark, duck, columns, "load", seconds, loaded, mismatches)
    for step in steps:
        seconds, affected, mismatches = 0.0, 0, []
        for action in step.actions:
            started = time.perf_counter()
            if isinstance(action, Compact):
                product.compact(spark, action.table, action.kind.value)
                seconds += time.perf_counter() - started
                continue
            count = product.execute(spark, action)
            seconds += time.perf_counter() - started
            ((expected,),) = duck.execute(action).fetchall()
            mismatches += affected_mismatch(_target(action), expected, count)
            affected += count or 0
        yield _checked(spark, duck, columns, step.name, seconds, affected, mismatches)


def _checked(
    spark: SparkSession,
    duck: Any,
    columns: Mapping[str, Sequence[Column]],
    step: str,
    seconds: float,
    affected: int,
    mismatches: Sequence[Mismatch],
) -> StepResult:
    started = time.perf_counter()
    tables = tuple(
        compare_table(spark, duck, table, table_columns) for table, table_columns in columns.items()
    )
    return StepResult(
        step=step,
        seconds=seconds,
        check_seconds=time.perf_counter() - started,
        affected=affected,
        tables=tables,
        layouts=tuple(product.layout(spark, table) for table in SALES),
        mismatches=(*mismatches, *(m for table in tables for m in table.mismatches)),
    )


def _target(statement: str) -> str:
    """Return the table that a statement of the script changes: the name after its verb."""
    words = statement.split()
    return words[1] if words[0] == "UPDATE" else words[2]
