"""Suite ``queries``: the 99 TPC-DS queries over ACID tables, flat ORC and DuckDB."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.check import compare_table, load
from tpcds_bench.compare import Answer, mismatch
from tpcds_bench.data import TABLES, duckdb_with
from tpcds_bench.report import Section, environment
from tpcds_bench.rewrites import MAX_REWRITES, REWRITES
from tpcds_bench.tables import databases, flat_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

ACID_DATABASE = "tpcds_acid"
FLAT_DATABASE = "tpcds_flat"


class Verdict(str, Enum):
    """Outcome of one comparison."""

    EQUAL = "equal"
    EQUAL_REWRITTEN = "equal after rewrite"
    DIFFERENT = "DIFFERENT"
    ERROR = "ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryResult:
    """What came of one query.

    Args:
        query: its number.
        rows: rows of DuckDB's answer.
        acid_seconds: wall time over ACID tables; the first query also warms Spark up.
        flat_seconds: wall time over flat ORC.
        flat: ACID tables against flat ORC.
        duckdb: ACID tables against DuckDB.
        note: what differs, what failed, or the reason of the rewrite; may be empty.
    """

    query: int
    rows: int
    acid_seconds: float
    flat_seconds: float
    flat: Verdict
    duckdb: Verdict
    note: str

    @property
    def passed(self) -> bool:
        """Whether the query is as it has to be."""
        return self.flat is Verdict.EQUAL and self.duckdb in {
            Verdict.EQUAL,
            Verdict.EQUAL_REWRITTEN,
        }


class LoadError(RuntimeError):
    """A loaded ACID table differs from its source."""


def run(stage: Stage, *, numbers: Iterable[int]) -> tuple[QueryResult, ...]:
    """Load all tables and run the queries with the given numbers.

    Raises:
        LoadError: a table is wrong before any query ran.
    """
    spark, data = stage.spark, stage.data
    duck = duckdb_with(data, TABLES)
    databases(spark, data, TABLES, acid=ACID_DATABASE, flat=FLAT_DATABASE)
    _load_flat(spark)
    _load_acid(spark, data, duck)
    return tuple(
        _result(spark, duck, number, data.queries[number])
        for number in tqdm(tuple(numbers), unit="query", desc="queries")
    )


def passed(results: Sequence[QueryResult]) -> bool:
    """Tell whether every query passed and no more were rewritten than may be."""
    return all(result.passed for result in results) and _rewritten(results) <= MAX_REWRITES


def sections(data: Dataset, results: Sequence[QueryResult]) -> tuple[Section, ...]:
    """Return the report on a run."""
    flat = sum(result.flat is Verdict.EQUAL for result in results)
    duckdb = sum(result.duckdb is Verdict.EQUAL for result in results)
    nonempty = sum(result.rows > 0 for result in results)
    return (
        Section(
            title="TPC-DS queries",
            text=(
                f"{environment(data.scale)} A tenth of the ACID tables' rows was updated to what"
                " they were, so that every query reads deltas and delete deltas."
                f" Of {len(results)} queries {flat} give over ACID tables what they give over flat"
                f" ORC; {duckdb} equal DuckDB's answer as they stand, {_rewritten(results)} after"
                f" a rewrite; {nonempty} return rows."
            ),
            headers=("query", "rows", "ACID seconds", "flat seconds", "flat ORC", "DuckDB", "note"),
            rows=[
                (
                    result.query,
                    result.rows,
                    result.acid_seconds,
                    result.flat_seconds,
                    result.flat.value,
                    result.duckdb.value,
                    result.note,
                )
                for result in results
            ],
        ),
    )


def _rewritten(results: Sequence[QueryResult]) -> int:
    return sum(result.duckdb is Verdict.EQUAL_REWRITTEN for result in results)


def _load_flat(spark: SparkSession) -> None:
    for table in tqdm(TABLES, unit="table", desc="flat ORC"):
        flat_table(spark.table(f"source_{table}"), f"{FLAT_DATABASE}.{table}")


def _load_acid(spark: SparkSession, data: Dataset, duck: Any) -> None:
    """Load ACID tables, and rewrite a tenth of their rows as they are.

    The rows stay what flat ORC holds, and every query has to read two deltas and a delete delta.
    """
    for table in tqdm(TABLES, unit="table", desc="ACID tables"):
        product.create_table(spark, table, data.columns[table])
        load(spark, table, data.columns[table], source=table)
        key = data.columns[table][0].name
        product.execute(spark, f"UPDATE {table} SET {key} = {key} WHERE {key} % 10 = 1")
        comparison = compare_table(spark, duck, table, data.columns[table])
        if comparison.mismatches:
            raise LoadError(f"{table} differs after loading: {comparison.mismatches[0].difference}")


def _result(spark: SparkSession, duck: Any, number: int, text: str) -> QueryResult:
    flat_seconds = acid_seconds = 0.0
    expected = _duckdb_answer(duck, text)
    notes: tuple[str | None, ...]
    try:
        spark.sql(f"USE {FLAT_DATABASE}")
        flat, flat_seconds = _spark_answer(spark.sql, text)
        product.execute(spark, f"USE {ACID_DATABASE}")
        acid, acid_seconds = _acid_answer(spark, text)
        flat_note = mismatch(flat, acid)
        if flat_note is None and flat.columns != acid.columns:
            flat_note = f"columns {flat.columns} expected, {acid.columns} found"
        verdict, duckdb_note = _against_duckdb(spark, duck, number, text, expected, acid)
        flat_verdict = Verdict.EQUAL if flat_note is None else Verdict.DIFFERENT
        notes = (flat_note and f"flat ORC: {flat_note}", duckdb_note)
    except product.FAILURES as err:
        # One query that fails must not hide what the others give.
        verdict = flat_verdict = Verdict.ERROR
        notes = (str(err)[:300],)
    return QueryResult(
        query=number,
        rows=len(expected.rows),
        acid_seconds=acid_seconds,
        flat_seconds=flat_seconds,
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
    acid, _ = _acid_answer(spark, rewritten)
    difference = mismatch(_duckdb_answer(duck, rewritten), acid)
    if difference is None:
        return Verdict.EQUAL_REWRITTEN, rewrite.reason
    return Verdict.DIFFERENT, f"DuckDB, after the rewrite: {difference}"


def _acid_answer(spark: SparkSession, text: str) -> tuple[Answer, float]:
    return _spark_answer(lambda text: product.query(spark, text), text)


def _spark_answer(query: Callable[[str], DataFrame], text: str) -> tuple[Answer, float]:
    started = time.perf_counter()
    frame = query(text)
    rows = tuple(tuple(row) for row in frame.collect())
    return Answer(columns=tuple(frame.columns), rows=rows), time.perf_counter() - started


def _duckdb_answer(duck: Any, text: str) -> Answer:
    cursor = duck.execute(text)
    columns = tuple(name for name, *_ in cursor.description)
    return Answer(columns=columns, rows=tuple(cursor.fetchall()))
