"""Targets of the fuzzers: what is drawn, and what must hold for it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

import hypothesis
from hypothesis import strategies as st

_ROUND = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Code that reads what others wrote.

    Attributes:
        name: of the target, on the command line.
        summary: what is read, in a few words.
        inputs: strategy of its inputs.
        check: reads an input; raises if it fails in a way that users should not see.
        around: context for reading inputs, with what they share.
        is_slow: whether an input takes longer than a few milliseconds.
    """

    name: str
    summary: str
    inputs: st.SearchStrategy[Any]
    check: Callable[[Any], None]
    around: Callable[[], AbstractContextManager[Any]] = nullcontext
    is_slow: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """Result of a few hundred inputs.

    Attributes:
        seed: from which the same inputs are drawn again.
        inputs: how many were read.
        failing: the smallest input that failed, if one did.
        error: its error.
    """

    seed: int
    inputs: int
    failing: Any = None
    error: BaseException | None = None


def rounds(target: Target, *, seed: int, seconds: float) -> Iterator[Round]:
    """Draw inputs in rounds with seeds from ``seed`` on, until the time is over or one fails."""
    end = time.monotonic() + seconds
    with target.around():
        while True:
            found = play(target, seed, 20 if target.is_slow else _ROUND)
            yield found
            if found.error is not None or time.monotonic() >= end:
                return
            seed += 1


def play(target: Target, seed: int, count: int) -> Round:
    """Draw ``count`` inputs from a seed; an input that fails is made smaller first."""
    read: list[Any] = []

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=count,
        database=None,
        deadline=None,
        print_blob=False,
        report_multiple_bugs=False,
        verbosity=hypothesis.Verbosity.quiet,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate, hypothesis.Phase.shrink],
    )
    @hypothesis.given(target.inputs)
    def run(drawn: Any) -> None:
        read.append(drawn)
        target.check(drawn)

    try:
        run()
    except Exception as error:  # noqa: BLE001 - whatever it is, it is what the fuzzer looks for
        return Round(seed=seed, inputs=len(read), failing=read[-1], error=error)
    return Round(seed=seed, inputs=len(read))
