"""Suite ``peers``: an environment for each group of engines, a process for each engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from tqdm import tqdm

from tpcds_bench.peers.client import WorkerError, start
from tpcds_bench.peers.contest import Contest, Member
from tpcds_bench.peers.environments import EnvironmentMissingError, environment_python
from tpcds_bench.peers.registry import Group
from tpcds_bench.peers.results import Failure, GroupResult
from tpcds_bench.peers.sources import Sources
from tpcds_bench.peers.steps import chosen, steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """Setup of a comparison.

    Args:
        warm_up: small sources, with which every engine does all steps once.
        measured: sources for the measured rounds.
        environments: directory that stores virtual environments between runs.
        work: empty directory.
        driver_memory: heap of each JVM, in Spark's notation.
    """

    warm_up: Sources
    measured: Sources
    environments: Path
    work: Path
    driver_memory: str


def run(
    setup: Setup, groups: Iterable[Group], *, rounds: int, only: Sequence[str] = ()
) -> tuple[GroupResult, ...]:
    """Compare the engines of each group, one group after the other.

    Args:
        setup: setup of the comparison.
        groups: the groups.
        rounds: rounds that are counted.
        only: parts of the names of steps; all steps are measured if there are none.
    """
    return tuple(_compare(setup, group, rounds, only) for group in groups)


def _compare(setup: Setup, group: Group, rounds: int, only: Sequence[str]) -> GroupResult:
    warm_up, counted = (
        chosen(steps(sources.keys), only) for sources in (setup.warm_up, setup.measured)
    )
    with ExitStack() as stack:
        members, failures = _start(setup, group, stack)
        with tqdm(total=1 + rounds, unit="round", desc=f"PySpark {group.pyspark}") as progress:
            contest = Contest(members, progress.set_postfix_str)
            contest.open(setup.warm_up)
            contest.round("warm-up", warm_up, counts=False)
            progress.update()
            contest.open(setup.measured)
            for number in range(rounds):
                contest.round(f"round {number + 1}", counted, counts=True)
                progress.update()
    return GroupResult(
        pyspark=group.pyspark,
        python=members[0].client.versions["python"] if members else "",
        engines=group.engines,
        steps=contest.results(counted),
        differences=tuple(contest.differences),
        failures=(*failures, *contest.failures),
    )


def _start(
    setup: Setup, group: Group, stack: ExitStack
) -> tuple[tuple[Member, ...], tuple[Failure, ...]]:
    """Start a worker for each engine; the stack stops the workers."""
    tqdm.write(f"environment with PySpark {group.pyspark} in {setup.environments}")
    try:
        python = environment_python(setup.environments, group.pyspark)
    except EnvironmentMissingError as err:
        return (), tuple(_not_started(name, err) for name in group.engines)
    members, failures = [], []
    for name in group.engines:
        tqdm.write(f"starting {name} on PySpark {group.pyspark}")
        work = setup.work / f"pyspark-{group.pyspark}" / name
        work.mkdir(parents=True)
        worker = start(python, name, work, driver_memory=setup.driver_memory)
        try:
            members.append(Member(name=name, client=stack.enter_context(worker)))
        except WorkerError as err:
            failures.append(_not_started(name, err))
    return tuple(members), tuple(failures)


def _not_started(name: str, err: Exception) -> Failure:
    return Failure(engine=name, when="start", step="", message=str(err))
