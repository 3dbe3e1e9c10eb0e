"""Suite ``cost``: what ACID tables cost beside flat ORC, as ratios measured in one run."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql.functions import col, when
from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.check import load, source_views
from tpcds_bench.measure import WARM_UP, Contender, Duel, duel
from tpcds_bench.profile import Profile, profile
from tpcds_bench.report import Section, environment

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset

ACID_DATABASE = "cost_acid"
FLAT_DATABASE = "cost_flat"

# The codec that ACID tables have by default; another for flat ORC would be measured as well.
_CODEC = "zlib"
# The tables with a key of each, by which it is loaded in two halves.
_TABLES = {"store_sales": "ss_ticket_number", "date_dim": "d_date_sk"}
_SMALL_ROWS = 1000
# First key of TPC-DS's date_dim.
_FIRST_DATE = 2415022


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One thing that is done in two ways.

    Args:
        name: what is done.
        goal: highest ratio of wall times that is good enough.
        subject: the way over ACID tables.
        yardstick: the way that it is compared with.
        against: what the yardstick does.
    """

    name: str
    goal: float
    subject: Contender
    yardstick: Contender
    against: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """What came of one case.

    Args:
        name: what was done.
        goal: highest ratio that is good enough.
        against: what it was compared with.
        duel: all samples.
        profile: one more run of the subject, profiled, when the goal was missed.
    """

    name: str
    goal: float
    against: str
    duel: Duel
    profile: Profile | None

    @property
    def met(self) -> bool:
        """Whether the goal was reached."""
        return self.duel.wall_ratio <= self.goal


class AnswerError(RuntimeError):
    """Two ways of doing the same thing gave different answers."""


def run(
    spark: SparkSession, data: Dataset, work: Path, *, rounds: int, only: Sequence[str] = ()
) -> tuple[CaseResult, ...]:
    """Load the tables and measure the cases.

    Args:
        spark: session.
        data: source data.
        work: directory for the flat files that are written.
        rounds: rounds of each case after those that warm up.
        only: parts of the names of cases; all cases are measured if there are none.

    Raises:
        AnswerError: a query gave different rows over ACID tables and flat ORC.
    """
    _load(spark, data)
    cases = (
        *_reads(spark, data),
        _insert(spark, data, work),
        *_changes(spark, work),
        _small(spark),
    )
    cases = tuple(c for c in cases if not only or any(part in c.name for part in only))
    results = []
    with tqdm(total=len(cases) * (WARM_UP + rounds), unit="round") as progress:
        for case in cases:
            progress.set_postfix_str(case.name)
            measured = duel(case.subject, case.yardstick, rounds=rounds, progress=progress.update)
            missed = measured.wall_ratio > case.goal
            results.append(
                CaseResult(
                    name=case.name,
                    goal=case.goal,
                    against=case.against,
                    duel=measured,
                    profile=_profile(spark, case.subject, WARM_UP + rounds) if missed else None,
                )
            )
    return tuple(results)


def sections(data: Dataset, results: Sequence[CaseResult]) -> tuple[Section, ...]:
    """Return the report on a run, with the profile of each case that missed its goal."""
    return (
        Section(
            title="Cost of ACID tables",
            text=(
                f"{environment(data.scale)} Ratios of wall times, round by round in one run, their"
                f" median and range over {len(results[0].duel.subject)} rounds; flat ORC has the"
                f" codec of the ACID tables ({_CODEC})."
            ),
            headers=(
                "what", "against", "goal", "ratio", "range", "CPU ratio", "seconds", "verdict",
            ),
            rows=[_row(result) for result in results],
        ),
        *(_profile_section(r.name, r.profile) for r in results if r.profile is not None),
    )  # fmt: skip


def _row(result: CaseResult) -> tuple[str | float, ...]:
    ratios = result.duel.wall_ratios
    walls = sorted(sample.wall for sample in result.duel.subject)
    return (
        result.name,
        result.against,
        f"≤ {result.goal:g}",
        result.duel.wall_ratio,
        f"{min(ratios):.2f} to {max(ratios):.2f}",
        result.duel.cpu_ratio,
        walls[len(walls) // 2],
        "met" if result.met else "MISSED",
    )


def _profile_section(name: str, found: Profile) -> Section:
    return Section(
        title=f"Profile: {name}",
        text=(
            f"{found.wall:.2f} s, of which {found.job_seconds:.2f} s in {found.jobs} Spark jobs"
            f" with {found.tasks} tasks. acidsql's functions and its calls into the JVM"
            " (send_command), longest first, with what they call:"
        ),
        headers=("function", "seconds"),
        rows=found.functions,
    )


def _profile(spark: SparkSession, contender: Contender, number: int) -> Profile:
    contender.prepare(number)
    return profile(spark, lambda: contender.run(number))


def _load(spark: SparkSession, data: Dataset) -> None:
    """Load flat tables and ACID tables, the latter compacted, so that reads are of a base."""
    source_views(spark, data, _TABLES)
    spark.sql(f"CREATE DATABASE {FLAT_DATABASE}")
    product.create_database(spark, ACID_DATABASE)
    for table, key in tqdm(_TABLES.items(), unit="table", desc="load"):
        spark.table(f"source_{table}").write.format("orc").option(
            "compression", _CODEC
        ).saveAsTable(f"{FLAT_DATABASE}.{table}")
        product.create_table(spark, table, data.columns[table])
        names = ", ".join(column.name for column in data.columns[table])
        # Two inserts: one delta and no base would be left alone by a major compaction.
        for half in (0, 1):
            product.execute(
                spark,
                f"INSERT INTO {table} SELECT {names} FROM source_{table} WHERE {key} % 2 = {half}",
            )
        product.compact(spark, table, "major")
    kept = {"d_date_sk", "d_date_id", "d_date", "d_year"}
    small = [column for column in data.columns["date_dim"] if column.name in kept]
    product.create_table(spark, "small", small)
    product.execute(
        spark,
        f"INSERT INTO small SELECT {', '.join(column.name for column in small)}"
        f" FROM source_date_dim WHERE d_date_sk < {_FIRST_DATE + _SMALL_ROWS}",
    )


def _reads(spark: SparkSession, data: Dataset) -> tuple[Case, ...]:
    maxima = ", ".join(f"max({column.name})" for column in data.columns["store_sales"])
    texts = {
        "count(*)": "SELECT count(*) FROM {0}.store_sales",
        "max of all columns": f"SELECT {maxima} FROM {{0}}.store_sales",
        "join with date_dim": (
            "SELECT d_year, count(*), sum(ss_net_paid) FROM {0}.store_sales"
            " JOIN {0}.date_dim ON ss_sold_date_sk = d_date_sk GROUP BY d_year ORDER BY d_year"
        ),
    }
    cases = []
    for name, text in texts.items():
        acid_text, flat_text = text.format(ACID_DATABASE), text.format(FLAT_DATABASE)
        if product.query(spark, acid_text).collect() != spark.sql(flat_text).collect():
            raise AnswerError(f"{name} differs between ACID table and flat ORC: {acid_text}")
        cases.append(
            Case(
                name=name,
                goal=1.2,
                subject=_query(lambda text: product.query(spark, text), acid_text),
                yardstick=_query(spark.sql, flat_text),
                against="the same over flat ORC",
            )
        )
    return tuple(cases)


def _query(query: Callable[[str], DataFrame], text: str) -> Contender:
    def run(_: int) -> None:
        query(text).collect()

    return Contender(run=run)


def _insert(spark: SparkSession, data: Dataset, work: Path) -> Case:
    columns = data.columns["store_sales"]

    def create(_: int) -> None:
        product.execute(spark, "DROP TABLE IF EXISTS inserted")
        product.create_table(spark, "inserted", columns)

    def insert(_: int) -> None:
        load(spark, "inserted", columns, source="store_sales")

    return Case(
        name="INSERT ... SELECT",
        goal=1.3,
        subject=Contender(prepare=create, run=insert),
        yardstick=_write(work, lambda _: spark.table("source_store_sales")),
        against="Spark writing flat ORC",
    )


def _changes(spark: SparkSession, work: Path) -> tuple[Case, ...]:
    """UPDATE and DELETE of another percent in each round, so that earlier deltas are read too."""
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
            yardstick=_write(work, updated),
            against=against,
        ),
        Case(
            name="DELETE 1 %",
            goal=1.0,
            subject=Contender(run=delete),
            yardstick=_write(work, remaining),
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


def _write(work: Path, frame: Callable[[int], DataFrame]) -> Contender:
    """Write a frame as flat ORC into a fresh directory."""
    target = work / "flat"

    def prepare(_: int) -> None:
        shutil.rmtree(target, ignore_errors=True)

    def run(number: int) -> None:
        frame(number).write.option("compression", _CODEC).orc(target.as_uri())

    return Contender(prepare=prepare, run=run)
