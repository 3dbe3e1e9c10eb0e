"""Family ``pauses``: a process sleeps for longer than the time-out of its transaction.

Python, its JVM or both are stopped by SIGSTOP. Meanwhile another process has the transaction time
out, writes to the table, compacts and cleans it. Then the first one goes on.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from tests.faults import rival, steps, worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Child, ChildError, Strike
from tests.faults.processes import descendants, is_stopped
from tests.faults.workload import KINDS, Statement, difference, draw, insert_into

TIMEOUT = 1.5
_START_SECONDS = 900.0
_SECONDS = 600.0
_MOST_SECONDS = 1.0
_CLEAR = (
    "TXN_ABORTED",
    "WRITE_ID_REFUSED",
    "CONCURRENT_WRITE",
    "LOCK_TIMEOUT",
    "TABLE_OR_VIEW_NOT_FOUND",
)
# One that was aborted while it slept leaves what a compaction will remove.
_MAY_LEAVE = ("of an aborted transaction",)
SETTINGS = {
    "spark.acidsql.txn.timeout": str(TIMEOUT),
    "spark.acidsql.lock.timeout": "4",
    "spark.acidsql.retries": "0",  # what is done again is not what was stopped
}


def begin(home: Path) -> Sleeper:
    """Start the session of the child that is stopped."""
    return Sleeper(worker.started(home, settings=SETTINGS))


class Sleeper:
    """Statements of one session that are stopped.

    Args:
        session: the session.
    """

    def __init__(self, session: worker.Worker) -> None:
        self._session = session

    def __call__(self, seed: int) -> Strike:
        """Stop during a statement; the parent process has it go on, and says what others did."""
        rng = random.Random(seed)
        session = self._session
        statement = draw(rng, session.state, KINDS)
        stopped = rng.choice(["python", "jvm", "both"])
        step = rng.choice(["random", *steps.of_statement(statement.kind)])
        arm = steps.Arm(step=step, before=rng.random() < 0.5, number=0, act=lambda: _stop(stopped))
        timer = threading.Timer(rng.uniform(0, _MOST_SECONDS) * rng.random(), arm.strike)
        if step == "random":
            timer.start()
        else:
            session.steps.arms.append(arm)
        outcome = session.attempt(statement.text)
        timer.cancel()
        if step == "random":
            timer.join()
        session.steps.arms.clear()
        if arm.struck:
            violation = self._verdict(statement, outcome, _work(session.home, seed))
        else:
            violation = None
            if outcome.returned:
                session.state = statement.after
        if not outcome.returned and outcome.condition not in _CLEAR:
            violation = violation or f"{statement.text!r} raised {outcome.error!r:.700}"
        violation = violation or session.verdict(
            insert_into(statement.table, session.state),
            worker.NOT_RUN,
            may_leave=_MAY_LEAVE,
            patience=3 * TIMEOUT,
        )
        return Strike(
            step=f"{stopped}: {step}",
            statement=statement.kind,
            struck=arm.struck,
            violation=violation,
        )

    def _verdict(
        self, statement: Statement, outcome: worker.Outcome, work: rival.Work
    ) -> str | None:
        """Return what is wrong with the tables; take over what they are."""
        if work.violation is not None:
            return work.violation
        found = self._session.tables()
        self._session.state = found
        never = "it never happened"
        possible = {
            never: work.after,
            "it came later": statement.apply(work.after),
            "both at once": work.apply(statement.after),
        }
        # What the other process found shows whether this one had committed before.
        changes = difference(statement.before, statement.after) is not None
        if changes and difference(work.before, statement.after) is None:
            possible = {"it came first": work.after}
        fits = [name for name, state in possible.items() if difference(found, state) is None]
        if not fits:
            return f"no possible state: {difference(found, work.after)} ({statement.text!r})"
        if outcome.returned and fits == [never]:
            return f"{statement.text!r} returned, and did nothing"
        if not outcome.returned and never not in fits:
            return f"{statement.text!r} raised {outcome.condition}, and has taken effect: {fits}"
        return None


def _stop(what: str) -> None:
    if what != "python":
        for process, command in descendants(os.getpid()).items():
            if "java" in command.split(" ")[0]:
                os.kill(process, signal.SIGSTOP)
    if what != "jvm":
        os.kill(os.getpid(), signal.SIGSTOP)


def _work(home: Path, seed: int) -> rival.Work:
    """Return what the other process did; it may be at work still if only the JVM was stopped."""
    file = home / rival.WORK.format(seed)
    deadline = time.monotonic() + _SECONDS
    while not file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return rival.Work.read(file)


def _run(options: Options) -> Iterator[Fault]:
    """Give each sleeper its rival; a violation ends both, and others follow."""
    seed, end = options.seed, options.seed + options.count
    while seed < end:
        home = options.home / f"from-{seed}"
        sleeper = Child(__name__, home, {})
        other = None
        try:
            sleeper.answer(_START_SECONDS)
            other = Child(rival.__name__, home / "rival", {})
            other.answer(_START_SECONDS)
            violation = None
            while seed < end and violation is None:
                fault = _fault(sleeper, other, seed)
                violation = fault.violation
                seed += 1
                yield fault
        finally:
            for child in filter(None, (sleeper, other)):
                child.stop()
        if violation is None:
            shutil.rmtree(home)


def _fault(sleeper: Child, other: Child, seed: int) -> Fault:
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(sleeper, other, seed, done))
    watcher.start()
    try:
        return Fault(family="pauses", seed=seed, **sleeper.ask(str(seed), _SECONDS))
    except ChildError as error:
        return Fault(family="pauses", step="?", statement="?", seed=seed, violation=str(error))
    finally:
        done.set()
        watcher.join()


def _watch(sleeper: Child, other: Child, seed: int, done: threading.Event) -> None:
    """Wait until the child is stopped, let another process work, and have the child go on."""
    python = sleeper.process.pid
    (jvm,) = (p for p, c in descendants(python).items() if "java" in c.split(" ")[0])
    while not is_stopped(python) and not is_stopped(jvm):
        if done.wait(0.02):
            return
    time.sleep(TIMEOUT + 0.5)
    try:
        other.ask(json.dumps(seed), _SECONDS)
    finally:
        for process in (jvm, python):
            os.kill(process, signal.SIGCONT)


FAMILY = Family(
    name="pauses",
    summary="a process is stopped for longer than the time-out of its transaction",
    run=_run,
    needed={},
)
