"""Contest of engines that do the same steps in turns; a failed engine no longer takes part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from tpcds_bench.measure import measured
from tpcds_bench.peers.client import Client, WorkerError
from tpcds_bench.peers.results import Cost, Difference, Failure, StepResult, difference
from tpcds_bench.peers.sources import Sources
from tpcds_bench.peers.steps import SMALL, TABLE, Step
from tpcds_bench.storage import sizes, written


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """Engine that takes part.

    Args:
        name: name of the engine.
        client: its worker.
        roots: directories of its tables.
    """

    name: str
    client: Client
    roots: dict[str, Path] = field(default_factory=dict)


class Contest:
    """Contest that lets engines do steps, and records their costs.

    Attributes:
        differences: differences between the engines' results.
        failures: failures of engines, which then no longer take part.
    """

    def __init__(self, members: Iterable[Member], progress: Callable[[str], None]) -> None:
        """Start without costs.

        Args:
            members: the engines.
            progress: called with the engine and the step before each step.
        """
        self._members = list(members)
        self._progress = progress
        self._costs: dict[tuple[str, str], list[Cost]] = {}
        self.differences: list[Difference] = []
        self.failures: list[Failure] = []

    def open(self, sources: Sources) -> None:
        """Send the sources to all engines."""
        message = asdict(sources)
        self._each("sources", "", lambda member: member.client.ask("open", sources=message))

    def round(self, when: str, steps: Sequence[Step], *, counts: bool) -> None:
        """Create new tables, do all steps, and reverse the order of engines for the next round.

        Only the first difference of an engine in each table is recorded, because it causes others.

        Args:
            when: name of the round.
            steps: the steps.
            counts: whether costs are recorded.
        """
        with_small = any(step.statement.table == SMALL for step in steps)
        strayed: set[tuple[str, str]] = set()
        self._each(when, "", lambda member: _prepare(member, with_small=with_small))
        for step in steps:
            done = self._each(when, step.name, partial(_measure, step))
            if counts:
                for name, (cost, _) in done.items():
                    self._costs.setdefault((step.name, name), []).append(cost)
            if step.writes:
                checksum = partial(_checksum, step.statement.table)
                answers = self._each(when, step.name, checksum)
                problem = difference(
                    step.name, when, "number of rows and hash of the table", answers
                )
            else:
                answers = {name: answer for name, (_, answer) in done.items()}
                problem = difference(step.name, when, "answer", answers)
            known = {engine for engine, table in strayed if table == step.statement.table}
            problem = None if problem is None else problem.without(known)
            if problem is not None:
                self.differences.append(problem)
                strayed |= {(engine, step.statement.table) for engine in problem.found}
        self._members.reverse()

    def results(self, steps: Sequence[Step]) -> tuple[StepResult, ...]:
        """Return the costs of each step."""
        return tuple(
            StepResult(
                name=step.name,
                goal=step.goal,
                costs={
                    engine: tuple(costs)
                    for (name, engine), costs in self._costs.items()
                    if name == step.name
                },
            )
            for step in steps
        )

    def _each(self, when: str, step: str, action: Callable[[Member], Any]) -> dict[str, Any]:
        """Let each engine do an action; return the results of the engines that did not fail."""
        values = {}
        for member in tuple(self._members):
            self._progress(f"{when}: {step or 'preparation'}, {member.name}")
            try:
                values[member.name] = action(member)
            except WorkerError as err:
                self._members.remove(member)
                self.failures.append(
                    Failure(engine=member.name, when=when, step=step, message=str(err))
                )
        return values


def _prepare(member: Member, *, with_small: bool) -> None:
    member.roots[TABLE] = Path(member.client.ask("create", table=TABLE))
    if with_small:
        member.roots[SMALL] = Path(member.client.ask("create", table=SMALL))
        member.client.ask("fill", table=SMALL, source="small_rows")


def _checksum(table: str, member: Member) -> list[Any]:
    answer: list[Any] = member.client.ask("checksum", table=table)
    return answer


def _measure(step: Step, member: Member) -> tuple[Cost, list[Any]]:
    """Let an engine do a step; return its cost, and the answer of a query."""
    root = member.roots[step.statement.table]
    before = sizes(root) if step.writes else {}
    answer, sample = measured(
        lambda: member.client.ask("run", step=step.name), member.client.processes
    )
    grown = written(before, sizes(root)) if step.writes else None
    return Cost(sample=sample, written=grown), answer
