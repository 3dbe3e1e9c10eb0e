"""Cases: one task, done in two ways that are measured in turns and reported as a ratio."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tqdm import tqdm

from tpcds_bench import product
from tpcds_bench.measure import WARM_UP, Contender, Duel, duel
from tpcds_bench.profile import Profile, profile
from tpcds_bench.report import Chart, Section, environment
from tpcds_bench.tables import CODEC

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from tpcds_bench.data import Dataset


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """Task that is done in two ways.

    Args:
        name: the task.
        goal: highest acceptable ratio.
        subject: contender on ACID tables.
        yardstick: contender that the subject is compared with.
        against: description of the yardstick.
    """

    name: str
    goal: float
    subject: Contender
    yardstick: Contender
    against: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseResult:
    """Result of one case.

    Args:
        name: the task.
        goal: highest acceptable ratio.
        against: description of the yardstick.
        duel: all samples.
        profile: profile of one more run of the subject if the goal was missed, otherwise None.
    """

    name: str
    goal: float
    against: str
    duel: Duel
    profile: Profile | None

    @property
    def met(self) -> bool:
        """Return whether the goal was reached."""
        return self.duel.wall_ratio <= self.goal


class AnswerError(RuntimeError):
    """Error of two ways of doing the same task that gave different answers."""


def measure(
    spark: SparkSession, cases: Sequence[Case], *, rounds: int, only: Sequence[str] = ()
) -> tuple[CaseResult, ...]:
    """Measure cases one after the other.

    Args:
        spark: session.
        cases: the cases.
        rounds: rounds of each case after the warm-up rounds.
        only: parts of the names of cases; all cases are measured if there are none.
    """
    chosen = [c for c in cases if not only or any(part in c.name for part in only)]
    results = []
    with tqdm(total=len(chosen) * (WARM_UP + rounds), unit="round") as progress:
        for case in chosen:
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


def sections(
    data: Dataset, title: str, text: str, results: Sequence[CaseResult]
) -> tuple[Section, ...]:
    """Return the report on a run, with the profile of each case that missed its goal."""
    rounds = len(results[0].duel.subject) if results else 0
    return (
        Section(
            title=title,
            text=(
                f"{environment(data.scale)} Ratios of wall times and of processor times, round by"
                f" round in one run, their median and range over {rounds} rounds. {text}"
            ),
            headers=(
                "what", "against", "goal", "ratio", "range", "CPU ratio", "seconds", "verdict",
            ),
            rows=[_row(result) for result in results],
            chart=Chart(
                unit="ratio of wall times",
                bars=[(f"{r.name} ÷ {r.against}", r.duel.wall_ratio, r.goal) for r in results],
            ),
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


def _profile_section(name: str, cost: Profile) -> Section:
    return Section(
        title=f"Profile: {name}",
        text=(
            f"{cost.wall:.2f} s, {cost.job_seconds:.2f} s of it in {cost.jobs} Spark jobs"
            f" with {cost.tasks} tasks. acidsql's functions and its calls into the JVM"
            " (send_command), longest first, with what they call:"
        ),
        headers=("function", "seconds"),
        rows=cost.functions,
    )


def _profile(spark: SparkSession, contender: Contender, number: int) -> Profile:
    contender.prepare(number)
    return profile(spark, lambda: contender.run(number))


def querying(query: Callable[[str], DataFrame], text: str) -> Contender:
    """Run a query and fetch its rows."""

    def run(_: int) -> None:
        query(text).collect()

    return Contender(run=run)


def executing(spark: SparkSession, text: Callable[[int], str]) -> Contender:
    """Run the statement of a round, and fetch its rows."""

    def run(number: int) -> None:
        product.query(spark, text(number)).collect()

    return Contender(run=run)


def same_query(spark: SparkSession, name: str, goal: float, acid: str, flat: str) -> Case:
    """Return the case of a query over an ACID table, against the same query over flat ORC.

    Raises:
        AnswerError: the queries return different rows.
    """
    if product.query(spark, acid).collect() != spark.sql(flat).collect():
        raise AnswerError(f"{name} differs between ACID table and flat ORC: {acid}")
    return Case(
        name=name,
        goal=goal,
        subject=executing(spark, lambda _: acid),
        yardstick=querying(spark.sql, flat),
        against="the same over flat ORC",
    )


def writing(work: Path, frame: Callable[[int], DataFrame]) -> Contender:
    """Write a frame as flat ORC to a new directory."""
    target = work / "flat"

    def prepare(_: int) -> None:
        shutil.rmtree(target, ignore_errors=True)

    def run(number: int) -> None:
        frame(number).write.option("compression", CODEC).orc(target.as_uri())

    return Contender(prepare=prepare, run=run)
