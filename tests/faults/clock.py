"""Family ``clock``: the wall clock jumps by hours, both ways, while statements run.

A small library in C gives the child another time; in half of the children its JVM as well.
"""

from __future__ import annotations

import os
import random
import struct
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import acidsql
from tests.faults import steps, worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Strike, strike_each
from tests.faults.workload import KINDS, draw
from tests.java_tools import prepared, run_tool

_FILE = "clock"
_SOURCE = Path(__file__).parent / "native" / "jumping_clock.c"
_LIBRARY = "jumping_clock.so"
_MOST_HOURS = 9
_MOST_SECONDS = 2.0
_CLEAR = ("returned", "TXN_ABORTED", "SNAPSHOT_EXPIRED")


def begin(home: Path) -> Clock:
    """Start the session of a child, whose JVM has the right time."""
    if home.name.endswith(("0", "2", "4", "6", "8")):
        os.environ.pop("LD_PRELOAD")
    return Clock(worker.started(home, settings={"spark.acidsql.txn.timeout": "60"}), home / _FILE)


class Clock:
    """Statements of one session during which the clock jumps.

    Args:
        session: the session.
        file: which libfaketime reads.
    """

    def __init__(self, session: worker.Worker, file: Path) -> None:
        self._session = session
        self._file = file

    def __call__(self, seed: int) -> Strike:
        """Have the clock jump during a statement, with a DataFrame from before it."""
        rng = random.Random(seed)
        statement = draw(rng, self._session.state, KINDS)
        hours = rng.choice([-1, 1]) * rng.uniform(0.5, _MOST_HOURS)
        step = rng.choice(["random", *steps.of_statement(statement.kind)])
        held = acidsql.sql(self._session.spark, "SELECT id, v, p FROM plain")
        expected = self._session.state["plain"]
        arm = steps.Arm(
            step=step, before=rng.random() < 0.5, number=0, act=lambda: self._set(hours)
        )
        self._session.steps.arms.append(arm)
        timer = threading.Timer(rng.uniform(0, _MOST_SECONDS) * rng.random(), arm.strike)
        if step == "random":
            timer.start()
        outcome = self._session.attempt(statement.text)
        timer.cancel()
        struck = arm.struck
        self._session.steps.arms.clear()
        violation = None
        if outcome.condition not in _CLEAR:
            violation = f"{statement.text!r} raised {outcome.error!r:.500}"
        rows = self._session.attempt_rows(held)
        if rows not in (expected, *_CLEAR):
            violation = violation or f"a DataFrame from before has other rows: {rows!s:.500}"
        violation = violation or self._session.verdict_if(struck, statement, outcome)
        way = "forward" if hours > 0 else "back"
        return Strike(
            step=f"{way}: {step}", statement=statement.kind, struck=struck, violation=violation
        )

    def _set(self, hours: float) -> None:
        _write(self._file, round(hours * 3600))


def _write(file: Path, seconds: int) -> None:
    """Set how far the clock is ahead; the file is mapped into memory, so it stays the same."""
    with file.open("r+b") as opened:
        opened.write(struct.pack("=q", seconds))


def _variables(home: Path) -> Mapping[str, str]:
    file = home / _FILE
    file.write_bytes(bytes(8))
    return {"LD_PRELOAD": str(_compiled() / _LIBRARY), "JUMPING_CLOCK": str(file)}


def _compiled() -> Path:
    def compile_into(place: Path) -> None:
        options = ["-shared", "-fPIC", "-O2", "-o", str(place / _LIBRARY)]
        run_tool(["cc", *options, str(_SOURCE)], place)

    return prepared("faults", "jumping-clock", [_SOURCE.read_text()], compile_into)


def _run(options: Options) -> Iterator[Fault]:
    yield from strike_each("clock", options, module=__name__, variables=_variables)


FAMILY = Family(
    name="clock",
    summary="the wall clock jumps by hours, both ways (needs a C compiler)",
    run=_run,
    needed={},
)
