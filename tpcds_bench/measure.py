"""Timing of two ways to do the same task, in turns."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

import psutil

Outcome = TypeVar("Outcome")

Action = Callable[[int], None]
"""Action for the round with a number; rounds below :data:`WARM_UP` are not counted."""

WARM_UP = 2
"""Number of warm-up rounds: the JVM compiles code that has run often."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Contender:
    """One way to do a task.

    Args:
        run: timed action.
        prepare: untimed action before each round.
    """

    run: Action
    prepare: Action = lambda _: None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """Cost of one run.

    Args:
        wall: seconds on the clock.
        cpu: seconds of processor time of a process and its children, including Spark's JVM.
    """

    wall: float
    cpu: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Duel:
    """Samples of a subject and of its yardstick, round by round.

    Args:
        subject: samples of the contender that is assessed.
        yardstick: samples that the subject's are divided by.
    """

    subject: tuple[Sample, ...]
    yardstick: tuple[Sample, ...]

    @property
    def wall_ratios(self) -> tuple[float, ...]:
        """Ratio of wall times in each round."""
        pairs = zip(self.subject, self.yardstick, strict=True)
        return tuple(a.wall / b.wall for a, b in pairs)

    @property
    def wall_ratio(self) -> float:
        """Median ratio of wall times."""
        return statistics.median(self.wall_ratios)

    @property
    def cpu_ratio(self) -> float:
        """Median ratio of processor times; 0 if the yardstick's time is too short to measure."""
        pairs = zip(self.subject, self.yardstick, strict=True)
        return statistics.median(a.cpu / b.cpu if b.cpu else 0.0 for a, b in pairs)


def duel(
    subject: Contender,
    yardstick: Contender,
    *,
    rounds: int,
    progress: Callable[[], object],
    warm_up: int = WARM_UP,
) -> Duel:
    """Run two contenders in turns, after warm-up rounds; each round changes which one begins.

    Args:
        subject: contender that is assessed.
        yardstick: contender that it is compared with.
        rounds: number of rounds that are counted.
        progress: called after each round.
        warm_up: number of warm-up rounds before these.
    """
    samples: tuple[list[Sample], list[Sample]] = ([], [])
    for number in range(warm_up + rounds):
        order = (0, 1) if number % 2 else (1, 0)
        for index in order:
            sample = _sample((subject, yardstick)[index], number)
            if number >= warm_up:
                samples[index].append(sample)
        progress()
    return Duel(subject=tuple(samples[0]), yardstick=tuple(samples[1]))


def measured(
    run: Callable[[], Outcome], process: psutil.Process | None = None
) -> tuple[Outcome, Sample]:
    """Call a function; return its result and its cost.

    Args:
        run: function that is timed.
        process: process whose processor time is measured, with its children; this one by default.
    """
    cpu, wall = cpu_seconds(process), time.perf_counter()
    outcome = run()
    return outcome, Sample(wall=time.perf_counter() - wall, cpu=cpu_seconds(process) - cpu)


def _sample(contender: Contender, number: int) -> Sample:
    contender.prepare(number)
    _, sample = measured(lambda: contender.run(number))
    return sample


def cpu_seconds(root: psutil.Process | None = None) -> float:
    """Return the processor time of a process and its children; of this process by default."""
    root = psutil.Process() if root is None else root
    total = 0.0
    for process in (root, *root.children(recursive=True)):
        try:
            times = process.cpu_times()
        except psutil.NoSuchProcess:
            # The process ended after it was listed; its parent counts it among its ended children.
            continue
        total += times.user + times.system + times.children_user + times.children_system
    return total
