"""Family ``executors``: executors of a local cluster are killed while statements run."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyspark

from acidsql import limits
from tests.faults import worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Strike, strike_each
from tests.faults.processes import descendants
from tests.faults.workload import draw

_KINDS = ("INSERT SELECT", "UPDATE", "MERGE", "DELETE", "OVERWRITE", "COMPACT", "CTAS or DROP")
_BACKEND = "CoarseGrainedExecutorBackend"
_MOST_SECONDS = 2.5


def begin(home: Path) -> Executors:
    """Start the cluster and the session of a child; its jobs do what the driver would do."""
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)
    limits._LIMITS = replace(
        limits.limits(), driver_rows=0, driver_events=0, driver_read_bytes=0, one_task_bytes=0
    )
    settings = {
        "spark.deploy.maxExecutorRetries": "-1",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1",
    }
    return Executors(worker.started(home, master="local-cluster[2,1,1024]", settings=settings))


class Executors:
    """Statements of one session during which executors are killed.

    Args:
        session: the session.
    """

    def __init__(self, session: worker.Worker) -> None:
        self._session = session
        self._killed_in_job = 0

    def __call__(self, seed: int) -> Strike:
        """Kill an executor, or both, during a statement."""
        rng = random.Random(seed)
        statement = draw(rng, self._session.state, _KINDS)
        both = rng.random() < 0.3
        self._wait_for_executors(1)
        self._killed_in_job = 0
        ended = threading.Event()
        number = 1 + rng.randrange(3)
        killer = threading.Thread(target=self._kill, args=(rng, ended, number, both))
        killer.start()
        outcome = self._session.attempt(statement.text)
        ended.set()
        killer.join()
        struck = self._killed_in_job > 0
        violation = self._session.verdict_if(struck, statement, outcome)
        return Strike(
            step="both" if both else "one",
            statement=statement.kind,
            struck=struck,
            violation=violation,
        )

    def _kill(self, rng: random.Random, ended: threading.Event, job: int, both: bool) -> None:
        """Kill soon after the n-th job of the statement has begun."""
        tracker = self._session.spark.sparkContext.statusTracker()
        seen: set[int] = set()
        while not ended.is_set():
            seen.update(tracker.getActiveJobsIds())
            if len(seen) >= job:
                time.sleep(rng.random() * 0.3 * rng.random())
                found = _executors()
                for process in found if both else found[:1]:
                    os.kill(process, signal.SIGKILL)
                self._killed_in_job = 0 if ended.is_set() else len(found)
                return
            time.sleep(0.01)

    def _wait_for_executors(self, number: int) -> None:
        deadline = time.monotonic() + 60
        while len(_executors()) < number and time.monotonic() < deadline:
            time.sleep(0.1)


def _executors() -> list[int]:
    return [process for process, command in descendants(os.getpid()).items() if _BACKEND in command]


def _run(options: Options) -> Iterator[Fault]:
    yield from strike_each("executors", options, module=__name__)


FAMILY = Family(
    name="executors",
    summary="executors of a local cluster are killed",
    run=_run,
    needed={},
)
