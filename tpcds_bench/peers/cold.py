"""Suite ``cold``: each statement runs in a new process, where it is the first of its kind.

A nightly job runs each of its statements once. It spends much of the time on generating and
compiling code. A warm session has done this work before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from tpcds_bench.measure import measured
from tpcds_bench.peers.anatomy import Anatomy, Compiled, spent, threads
from tpcds_bench.peers.client import WorkerError, start
from tpcds_bench.peers.environments import environment_python
from tpcds_bench.peers.registry import Group
from tpcds_bench.peers.results import (
    Cost,
    Difference,
    Failure,
    GroupResult,
    StepResult,
    difference,
)
from tpcds_bench.peers.steps import TABLE, Step, chosen, cold_steps
from tpcds_bench.peers.suite import Setup
from tpcds_bench.storage import sizes, written


@dataclass(slots=True, kw_only=True)
class _Contender:
    """Engine with its table, which several processes change, one after the other."""

    name: str
    work: Path
    root: Path | None = None
    processes: int = 0
    costs: dict[str, list[Cost]] = field(default_factory=dict)


def run(setup: Setup, group: Group, *, rounds: int, only: Sequence[str] = ()) -> GroupResult:
    """Compare the engines of a group; each round creates new tables.

    Args:
        setup: setup of the comparison.
        group: the engines.
        rounds: number of rounds; all rounds are counted.
        only: parts of the names of steps; all steps are measured if there are none.

    Raises:
        EnvironmentMissingError: no environment with the group's PySpark could be made.
    """
    python = environment_python(setup.environments, group.pyspark)
    steps = chosen(cold_steps(setup.measured.keys), only)
    contenders = [_Contender(name=name, work=Path()) for name in group.engines]
    failures: list[Failure] = []
    differences: list[Difference] = []
    with tqdm(total=rounds * len(steps) * len(contenders), unit="process") as progress:
        for number in range(1, rounds + 1):
            when = f"round {number}"
            for one in contenders:
                one.work, one.root = setup.work / f"{one.name}-{number}", None
                one.work.mkdir(parents=True)
            for step in steps:
                answers = {}
                for one in tuple(contenders):
                    progress.set_postfix_str(f"{when}: {step.name}, {one.name}")
                    try:
                        answers[one.name] = _measure(setup, python, one, step)
                    except WorkerError as err:
                        contenders.remove(one)
                        failures.append(
                            Failure(engine=one.name, when=when, step=step.name, message=str(err))
                        )
                    progress.update()
                problem = difference(step.name, when, "number of rows and hash, or answer", answers)
                differences += [] if problem is None else [problem]
            contenders.reverse()
    return GroupResult(
        pyspark=group.pyspark,
        python="",
        engines=group.engines,
        steps=tuple(
            StepResult(
                name=step.name,
                goal=step.goal,
                costs={one.name: tuple(one.costs.get(step.name, ())) for one in contenders},
            )
            for step in steps
        ),
        differences=tuple(differences),
        failures=tuple(failures),
    )


def _measure(setup: Setup, python: Path, contender: _Contender, step: Step) -> list[Any]:
    """Start a process, let it do a small task and then the step; return the step's result."""
    contender.processes += 1
    with start(python, contender.name, contender.work, driver_memory=setup.driver_memory) as client:
        warm = f"warm_{contender.processes}"
        client.ask("open", sources=asdict(setup.warm_up))
        client.ask("create", table=warm)
        client.ask("fill", table=warm, source="small_rows")
        client.ask("count", table=warm)
        client.ask("open", sources=asdict(setup.measured))
        if contender.root is None:
            contender.root = Path(client.ask("create", table=TABLE))
        else:
            client.ask("reopen", table=TABLE, root=contender.root)
        before = sizes(contender.root) if step.writes else {}
        begun, made = threads(client.processes), Compiled(**client.ask("compiled"))
        answer, sample = measured(lambda: client.ask("run", step=step.name), client.processes)
        anatomy = Anatomy(
            seconds=spent(begun, threads(client.processes)),
            compiled=Compiled(**client.ask("compiled")).since(made),
        )
        grown = written(before, sizes(contender.root)) if step.writes else None
        cost = Cost(sample=sample, written=grown, anatomy=anatomy)
        contender.costs.setdefault(step.name, []).append(cost)
        return list(client.ask("checksum", table=TABLE) if step.writes else answer)
