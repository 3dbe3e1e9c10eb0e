"""Results of a comparison, and their verdicts."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from tpcds_bench.measure import Sample
from tpcds_bench.peers.anatomy import Anatomy
from tpcds_bench.peers.registry import FLAT, SUBJECT, peers
from tpcds_bench.peers.steps import Goal, Yardstick


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Cost of a step for one engine in one round.

    Args:
        sample: seconds of the step.
        written: number of bytes written; None for a query.
        anatomy: breakdown of the processor time; None if it was not measured.
    """

    sample: Sample
    written: int | None
    anatomy: Anatomy | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """Costs of one step.

    Args:
        name: name of the step.
        goal: goal for the processor time, or None.
        costs: costs of each engine in each round.
    """

    name: str
    goal: Goal | None
    costs: Mapping[str, tuple[Cost, ...]]

    def cpu(self, engine: str) -> float | None:
        """Return the median of an engine's processor time; None if it was not measured."""
        costs = self.costs.get(engine)
        return statistics.median(cost.sample.cpu for cost in costs) if costs else None

    @property
    def best_peer(self) -> str | None:
        """Peer with the least processor time; None if no peer was measured."""
        by_peer = {name: self.cpu(name) for name in peers(self.costs)}
        known = {name: cpu for name, cpu in by_peer.items() if cpu is not None}
        return min(known, key=known.__getitem__) if known else None

    def ratio(self, engine: str | None) -> float | None:
        """Return acidsql's processor time divided by an engine's; None if one is missing."""
        subject = self.cpu(SUBJECT)
        other = None if engine is None else self.cpu(engine)
        return None if subject is None or not other else subject / other

    @property
    def goal_ratio(self) -> float | None:
        """Ratio that the goal applies to; None without a goal or a measurement."""
        if self.goal is None:
            return None
        return self.ratio(FLAT if self.goal.against is Yardstick.FLAT else self.best_peer)

    @property
    def met(self) -> bool | None:
        """Return whether the goal was reached; None without a goal or a measurement."""
        ratio = self.goal_ratio
        return None if ratio is None or self.goal is None else ratio <= self.goal.limit


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """Difference between the engines after a step.

    Args:
        step: name of the step.
        when: the round.
        what: the quantity that was compared.
        expected: value of flat ORC, or of the first engine.
        found: values of the engines that differ.
    """

    step: str
    when: str
    what: str
    expected: str
    found: Mapping[str, str]

    def without(self, engines: Collection[str]) -> Difference | None:
        """Return the difference without some engines; None if no engine is left."""
        left = {name: answer for name, answer in self.found.items() if name not in engines}
        return replace(self, found=left) if left else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Failure of an engine that could not continue.

    Args:
        engine: name of the engine.
        when: the round, or the phase before the first round.
        step: name of the step; empty before the first step.
        message: reason of the failure.
    """

    engine: str
    when: str
    step: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupResult:
    """Result of one group of engines.

    Args:
        pyspark: release of PySpark that the engines ran on.
        python: version of Python.
        engines: names of the engines.
        steps: costs of the steps.
        differences: differences between the engines.
        failures: failures of engines.
    """

    pyspark: str
    python: str
    engines: tuple[str, ...]
    steps: tuple[StepResult, ...]
    differences: tuple[Difference, ...]
    failures: tuple[Failure, ...]


def passed(results: Sequence[GroupResult]) -> bool:
    """Return whether all engines did all steps with the same results, regardless of goals."""
    return not any(result.differences or result.failures for result in results)


def difference(step: str, when: str, what: str, answers: Mapping[str, object]) -> Difference | None:
    """Compare the answers of the engines.

    Args:
        step: name of the step.
        when: the round.
        what: the quantity that is compared.
        answers: answer of each engine.
    """
    if not answers:
        return None
    expected = answers.get(FLAT, next(iter(answers.values())))
    wrong = {name: str(answer) for name, answer in answers.items() if answer != expected}
    if not wrong:
        return None
    return Difference(step=step, when=when, what=what, expected=str(expected), found=wrong)
