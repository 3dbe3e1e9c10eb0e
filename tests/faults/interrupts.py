"""Family ``interrupts``: Ctrl-C once and twice in a program that calls ``acidsql.sql``."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import FrameType

from tests.faults import notebook, shell, steps, worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Strike, strike_each
from tests.faults.workload import KINDS, draw

_MOST_SECONDS = 1.5
_SECOND_SECONDS = 0.05
RANDOM = "random"


def begin(home: Path) -> Interrupts:
    """Start the session of a child."""
    return Interrupts(worker.started(home))


class Interrupts:
    """Statements of one session that are interrupted; a second Ctrl-C follows half of the first.

    Args:
        session: the session.
    """

    def __init__(self, session: worker.Worker) -> None:
        self._session = session
        self._struck = 0
        self._runs = False
        self._handler = signal.getsignal(signal.SIGINT)  # PySpark's
        signal.signal(signal.SIGINT, self._interrupt)

    def __call__(self, seed: int) -> Strike:
        """Interrupt a statement."""
        rng = random.Random(seed)
        statement = draw(rng, self._session.state, KINDS)
        step = RANDOM if rng.random() < 0.4 else rng.choice(steps.of_statement(statement.kind))
        self._struck = 0
        timers = self._timers(rng, step)
        for timer in timers:
            timer.start()
        self._runs = True
        outcome = self._session.attempt(statement.text)
        self._runs = False
        self._session.steps.arms.clear()
        for timer in timers:
            timer.cancel()
        struck = self._struck > 0
        violation = self._session.verdict_if(struck, statement, outcome, errors_may_come_after=True)
        return Strike(step=step, statement=statement.kind, struck=struck, violation=violation)

    def _timers(self, rng: random.Random, step: str) -> list[threading.Timer]:
        """Aim one Ctrl-C, or two."""
        twice = rng.random() < 0.5
        session = self._session
        if step != RANDOM:
            number = rng.choice([0, 0, 0, 1]) if step != "delete" else rng.randrange(4)
            session.steps.arms.append(
                steps.Arm(step=step, before=rng.random() < 0.4, number=number, act=_press)
            )
            if not twice:
                return []
            if rng.random() < 0.5:
                undoing = rng.choice(steps.UNDOING)
                session.steps.arms.append(
                    steps.Arm(step=undoing, before=rng.random() < 0.5, number=0, act=_press)
                )
                return []
            return []
        first = rng.uniform(0, _MOST_SECONDS) * rng.random()
        moments = [first, first + rng.uniform(0, _SECOND_SECONDS)] if twice else [first]
        return [threading.Timer(moment, _press) for moment in moments]

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if not self._runs:
            return  # it came too late
        self._struck += 1
        assert callable(self._handler)
        self._handler(number, frame)


def _press() -> None:
    os.kill(os.getpid(), signal.SIGINT)
    # Python runs the handler of a signal between two of the instructions that follow.
    time.sleep(0)


def interrupted(options: Options) -> Iterator[Fault]:
    """Interrupt statements of a program."""
    yield from strike_each("interrupts", options, module=__name__)


def _run(options: Options) -> Iterator[Fault]:
    """Half of the interrupts are in a program, the others in a shell and in a notebook."""
    in_shell = options.count // 4
    in_notebook = options.count // 4
    in_program = options.count - in_shell - in_notebook
    yield from interrupted(replace(options, count=in_program))
    seeds = range(options.seed + in_program, options.seed + options.count)
    if in_shell:
        yield from shell.interrupted(options.home / "shell", seeds[:in_shell])
    if in_notebook:
        yield from notebook.interrupted(options.home / "notebook", seeds[in_shell:])


FAMILY = Family(
    name="interrupts",
    summary="Ctrl-C, once and twice, in a program, the shell and a notebook",
    run=_run,
    needed={},
)
