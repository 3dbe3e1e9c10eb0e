"""Suite ``queries``: the 99 TPC-DS queries over ACID tables, flat ORC and DuckDB."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.cases import querying
from tpcds_bench.check import compare_table, load
from tpcds_bench.compare import Answer, mismatch
from tpcds_bench.data import TABLES, duckdb_with
from tpcds_bench.measure import Contender, Duel, duel
from tpcds_bench.report import Chart, Section, environment
from tpcds_bench.rewrites import MAX_REWRITES, REWRITES
from tpcds_bench.tables import databases, flat_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

ACID_DATABASE = "tpcds_acid"
FLAT_DATABASE = "tpcds_flat"


class Verdict(StrEnum):
    """Outcome of one comparison."""

    EQUAL = "equal"
    EQUAL_REWRITTEN = "equal after rewrite"
    DIFFERENT = "DIFFERENT"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """Result of one query.

    Args:
        query: number of the query.
        rows: number of rows of DuckDB's answer.
        duel: costs over ACID tables and over flat ORC, after each has run once; None if one failed.
        flat: verdict on ACID tables against flat ORC.
        duckdb: verdict on ACID tables against DuckDB.
        note: the difference, the failure, or the reason for the rewrite; may be empty.
    """

    query: int
    rows: int
    duel: Duel | None
    flat: Verdict
    duckdb: Verdict
    note: str

    @property
    def passed(self) -> bool:
        """Return whether ACID tables give the same rows as flat ORC and DuckDB.

        A rewrite of the query is allowed.
        """
        return self.flat is Verdict.EQUAL and self.duckdb in {
            Verdict.EQUAL,
            Verdict.EQUAL_REWRITTEN,
        }


class LoadError(RuntimeError):
    """Error of a loaded ACID table that differs from its source."""


def run(stage: Stage, *, numbers: Iterable[int], rounds: int) -> tuple[QueryResult, ...]:
    """Load all tables, run the queries with the given numbers, and measure each query.

    Raises:
        LoadError: a table is wrong before any query has run.
    """
    spark, data = stage.spark, stage.data
    duck = duckdb_with(data, TABLES)
    databases(spark, data, TABLES, acid=ACID_DATABASE, flat=FLAT_DATABASE)
    load_flat(spark)
    load_acid(spark, data, duck)
    return tuple(
        _result(spark, duck, number, data.queries[number], rounds)
        for number in tqdm(tuple(numbers), unit="query", desc="queries")
    )


def passed(results: Sequence[QueryResult]) -> bool:
    """Return whether every query passed, with at most the allowed number of rewrites."""
    return all(result.passed for result in results) and _rewritten(results) <= MAX_REWRITES


def sections(data: Dataset, results: Sequence[QueryResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    flat = sum(result.flat is Verdict.EQUAL for result in results)
    duckdb = sum(result.duckdb is Verdict.EQUAL for result in results)
    nonempty = sum(result.rows > 0 for result in results)
    duels = {result.query: result.duel for result in results if result.duel is not None}
    return (
        Section(
            title="TPC-DS queries",
            text=(
                f"{environment(data.scale)} A tenth of the ACID tables' rows was updated to what"
                " they were, so that every query reads deltas and delete deltas."
                f" Of {len(results)} queries {flat} give over ACID tables what they give over flat"
                f" ORC; {duckdb} equal DuckDB's answer as they stand, {_rewritten(results)} after"
                f" a rewrite; {nonempty} return rows. {_ratios(list(duels.values()))}"
            ),
            headers=(
                "query", "rows", "ratio to flat ORC", "CPU ratio", "seconds", "flat ORC", "DuckDB",
                "note",
            ),
            rows=[
                (
                    result.query,
                    result.rows,
                    *_costs(result.duel),
                    result.flat.value,
                    result.duckdb.value,
                    result.note,
                )
                for result in results
            ],
            chart=Chart(
                unit="ratio of wall times",
                bars=[(f"query {n} ÷ flat ORC", d.wall_ratio, None) for n, d in duels.items()],
            )
            if duels
            else None,
        ),
    )  # fmt: skip


def _costs(costs: Duel | None) -> tuple[str | float, ...]:
    """Return ratios of wall time and processor time to flat ORC, and seconds over ACID tables."""
    if costs is None:
        return "", "", ""
    seconds = statistics.median(sample.wall for sample in costs.subject)
    return costs.wall_ratio, costs.cpu_ratio, seconds


def _ratios(duels: Sequence[Duel]) -> str:
    """Return a sentence on the total cost of all queries against flat ORC."""
    if not duels:
        return ""
    mean = statistics.geometric_mean(d.wall_ratio for d in duels)
    subject, yardstick = (
        sum(statistics.median(s.wall for s in samples) for samples in sides)
        for sides in ([d.subject for d in duels], [d.yardstick for d in duels])
    )
    return (
        f"They take {subject:.1f} s over ACID tables and {yardstick:.1f} s over flat ORC, ratio"
        f" {subject / yardstick:.2f}; the geometric mean of their ratios is {mean:.2f}."
    )


def _rewritten(results: Sequence[QueryResult]) -> int:
    return sum(result.duckdb is Verdict.EQUAL_REWRITTEN for result in results)


def load_flat(spark: SparkSession) -> None:
    """Load all tables as flat ORC."""
    for table in tqdm(TABLES, unit="table", desc="flat ORC"):
        flat_table(spark.table(f"source_{table}"), f"{FLAT_DATABASE}.{table}")


def load_acid(spark: SparkSession, data: Dataset, duck: Any) -> None:
    """Load ACID tables, and rewrite a tenth of their rows unchanged.

    The rows remain the same as in flat ORC, and every query has to read two deltas and a delete
    delta.
    """
    for table in tqdm(TABLES, unit="table", desc="ACID tables"):
        product.create_table(spark, table, data.columns[table])
        load(spark, table, data.columns[table], source=table)
        key = data.columns[table][0].name
        product.execute(spark, f"UPDATE {table} SET {key} = {key} WHERE {key} % 10 = 1")
        comparison = compare_table(spark, duck, table, data.columns[table])
        if comparison.mismatches:
            raise LoadError(f"{table} differs after loading: {comparison.mismatches[0].difference}")


def _result(spark: SparkSession, duck: Any, number: int, text: str, rounds: int) -> QueryResult:
    measured: Duel | None = None
    expected = _duckdb_answer(duck, text)
    notes: tuple[str | None, ...]
    try:
        flat, acid = _over_flat(spark, text), _over_acid(spark, text)
        flat_note = mismatch(flat, acid)
        if flat_note is None and flat.columns != acid.columns:
            flat_note = f"columns {flat.columns} expected, {acid.columns} found"
        verdict, duckdb_note = _against_duckdb(spark, duck, number, text, expected, acid)
        flat_verdict = Verdict.EQUAL if flat_note is None else Verdict.DIFFERENT
        notes = (flat_note and f"flat ORC: {flat_note}", duckdb_note)
        measured = _duel(spark, text, rounds)
    except product.FAILURES as err:
        # A failed query must not hide the results of the other queries.
        verdict = flat_verdict = Verdict.ERROR
        notes = (str(err)[:300],)
    return QueryResult(
        query=number,
        rows=len(expected.rows),
        duel=measured,
        flat=flat_verdict,
        duckdb=verdict,
        note="; ".join(note for note in notes if note),
    )


def _against_duckdb(
    spark: SparkSession, duck: Any, number: int, text: str, expected: Answer, acid: Answer
) -> tuple[Verdict, str | None]:
    difference = mismatch(expected, acid)
    if difference is None:
        return Verdict.EQUAL, None
    if number not in REWRITES:
        return Verdict.DIFFERENT, f"DuckDB: {difference}"
    rewrite = REWRITES[number]
    rewritten = rewrite.apply(text)
    difference = mismatch(_duckdb_answer(duck, rewritten), _over_acid(spark, rewritten))
    if difference is None:
        return Verdict.EQUAL_REWRITTEN, rewrite.reason
    return Verdict.DIFFERENT, f"DuckDB, after the rewrite: {difference}"


def _over_flat(spark: SparkSession, text: str) -> Answer:
    spark.sql(f"USE {FLAT_DATABASE}")
    return _answer(spark.sql(text))


def _over_acid(spark: SparkSession, text: str) -> Answer:
    product.execute(spark, f"USE {ACID_DATABASE}")
    return _answer(product.query(spark, text))


def _duel(spark: SparkSession, text: str, rounds: int) -> Duel:
    def use_acid(_: int) -> None:
        product.execute(spark, f"USE {ACID_DATABASE}")

    def use_flat(_: int) -> None:
        spark.sql(f"USE {FLAT_DATABASE}")

    def over_acid(query: str) -> DataFrame:
        return product.query(spark, query)

    return duel(
        Contender(prepare=use_acid, run=querying(over_acid, text).run),
        Contender(prepare=use_flat, run=querying(spark.sql, text).run),
        rounds=rounds,
        warm_up=0,
        progress=lambda: None,
    )


def _answer(frame: DataFrame) -> Answer:
    rows = tuple(tuple(row) for row in frame.collect())
    return Answer(columns=tuple(frame.columns), rows=rows)


def _duckdb_answer(duck: Any, text: str) -> Answer:
    cursor = duck.execute(text)
    columns = tuple(name for name, *_ in cursor.description)
    return Answer(columns=columns, rows=tuple(cursor.fetchall()))
