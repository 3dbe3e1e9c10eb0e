"""Suite ``plans``: the time to plan TPC-DS queries and short statements, against flat ORC.

It also counts the calls of statements from Python into the JVM.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tpcds_bench import cases, product, queries
from tpcds_bench.cases import Case, CaseResult, executing
from tpcds_bench.data import TABLES, duckdb_with
from tpcds_bench.jvm_calls import calls_into_the_jvm
from tpcds_bench.measure import Contender
from tpcds_bench.report import Section
from tpcds_bench.tables import databases, flat_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset
    from tpcds_bench.session import Stage

QUERIES = (3, 4, 7, 11, 14, 23, 64)
GOAL = 1.5
# Formats that Spark reads as files, and not by its connector API.
_FILE_SOURCES = "spark.sql.sources.useV1SourceList"
_ROWS = 1_000
_COLUMNS = 1_000
_ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plans:
    """Results of the suite.

    Args:
        cases: results of the cases.
        calls: number of calls from Python into the JVM, by statement.
    """

    cases: tuple[CaseResult, ...]
    calls: dict[str, int]


def run(stage: Stage, *, rounds: int, only: Sequence[str] = ()) -> Plans:
    """Load all TPC-DS tables and a table of 1,000 rows, and measure the cases.

    Args:
        stage: environment of the suite.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    spark, data = stage.spark, stage.data
    databases(spark, data, TABLES, acid=queries.ACID_DATABASE, flat=queries.FLAT_DATABASE)
    queries.load_flat(spark)
    queries.load_acid(spark, data, duckdb_with(data, TABLES))
    product.execute(spark, f"CREATE TABLE few (id INT, v STRING, n INT) {_ACID}")
    product.execute(
        spark,
        f"INSERT INTO few SELECT CAST(id AS INT), concat('v', id), 0 FROM range(0, {_ROWS}, 1, 1)",
    )
    flat_table(product.query(spark, "SELECT * FROM few"), f"{queries.FLAT_DATABASE}.few")
    columns = ", ".join(f"id + {i} AS c{i}" for i in range(_COLUMNS))
    types = ", ".join(f"c{i} BIGINT" for i in range(_COLUMNS))
    product.execute(spark, f"CREATE TABLE wide ({types}) {_ACID}")
    product.execute(spark, f"INSERT INTO wide SELECT {columns} FROM range(10)")
    flat_table(product.query(spark, "SELECT * FROM wide"), f"{queries.FLAT_DATABASE}.wide")
    every_case = (
        *(_planned(spark, number, data.queries[number]) for number in QUERIES),
        *_planned_wide(spark),
        _selected(spark),
        _updated(spark),
    )
    measured = cases.measure(spark, every_case, rounds=rounds, only=only)
    return Plans(cases=measured, calls=_calls(spark))


def sections(data: Dataset, results: Plans) -> tuple[Section, ...]:
    """Return the report on a run."""
    text = (
        "A query of TPC-DS is planned down to its physical plan, and not run; a tenth of the rows"
        " of the ACID tables was updated. The other statements are run."
    )
    return (
        *cases.sections(data, "Plans", text, results.cases),
        Section(
            title="Calls into the JVM",
            text="From Python, by a warm session, for one statement.",
            headers=("statement", "calls"),
            rows=list(results.calls.items()),
        ),
    )


def _planned(spark: SparkSession, number: int, text: str) -> Case:
    return Case(
        name=f"plan of query {number}",
        goal=GOAL,
        subject=_planning(spark, queries.ACID_DATABASE, lambda: product.query(spark, text)),
        yardstick=_planning(spark, queries.FLAT_DATABASE, lambda: spark.sql(text)),
        against="flat ORC",
    )


def _planned_wide(spark: SparkSession) -> tuple[Case, ...]:
    """Return the cases of many columns, which Spark plans differently for each of its APIs."""
    text = "SELECT * FROM wide WHERE c7 = 7"
    flat = spark.table(f"{queries.FLAT_DATABASE}.wide")
    schema, files = flat.schema, flat.inputFiles()
    subject = _planning(spark, queries.ACID_DATABASE, lambda: product.query(spark, text))

    def plan_by_connector(_: int) -> None:
        spark.conf.set(_FILE_SOURCES, "")
        try:
            _plan(spark.read.schema(schema).orc(files).where("c7 = 7"))
        finally:
            spark.conf.unset(_FILE_SOURCES)

    name = f"plan of a SELECT of {_COLUMNS:,} columns"
    return (
        Case(
            name=name,
            goal=2.0,
            subject=subject,
            yardstick=_planning(spark, queries.FLAT_DATABASE, lambda: spark.sql(text)),
            against="flat ORC",
        ),
        Case(
            name=name,
            goal=1.3,
            subject=subject,
            yardstick=Contender(run=plan_by_connector),
            against="flat ORC by Spark's connector API",
        ),
    )


def _planning(spark: SparkSession, database: str, query: Callable[[], DataFrame]) -> Contender:
    return Contender(
        prepare=lambda _: spark.catalog.setCurrentDatabase(database),
        run=lambda _: _plan(query()),
    )


def _plan(frame: DataFrame) -> None:
    frame._jdf.queryExecution().executedPlan()


def _selected(spark: SparkSession) -> Case:
    text = "SELECT * FROM {}.few WHERE id = 7"
    return cases.same_query(
        spark,
        "SELECT of a row of 1,000",
        1.3,
        text.format(queries.ACID_DATABASE),
        text.format(queries.FLAT_DATABASE),
    )


def _updated(spark: SparkSession) -> Case:
    table = f"{queries.ACID_DATABASE}.few"
    return Case(
        name="UPDATE of a row of 1,000",
        goal=1.6,
        subject=executing(spark, lambda n: f"UPDATE {table} SET n = n + 1 WHERE id = {n}"),
        yardstick=executing(spark, lambda n: f"SELECT * FROM {table} WHERE id = {n}"),
        against="its SELECT",
    )


def _calls(spark: SparkSession) -> dict[str, int]:
    """Count the calls of one SELECT, UPDATE and MERGE, each after two similar statements."""
    table = f"{queries.ACID_DATABASE}.few"
    statements = {
        "SELECT of a row": f"SELECT * FROM {table} WHERE id = {{}}",
        "UPDATE of a row": f"UPDATE {table} SET n = n + 1 WHERE id = {{}}",
        "MERGE of a row": (
            f"MERGE INTO {table} AS t USING (SELECT {{}} AS id) AS s ON t.id = s.id"
            " WHEN MATCHED THEN UPDATE SET n = 0"
        ),
    }
    calls = {}
    for name, text in statements.items():
        for number in (500, 501):
            product.query(spark, text.format(number)).collect()
        with calls_into_the_jvm() as count:
            product.query(spark, text.format(502)).collect()
        calls[name] = count()
    return calls
