"""Family ``io``: one operation on files fails, before or after it was done.

Spark's tasks meet it below Hadoop's local file system, acidsql itself in ``FileSystem`` and in the
syncs. In half of the children the tables are on a file system with a scheme of its own, all of
whose operations go by way of Hadoop, as on HDFS.
"""

from __future__ import annotations

import errno
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyspark

from acidsql import limits
from tests.faults import steps, worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Strike, strike_each
from tests.faults.workload import KINDS, draw
from tests.java_tools import prepared, run_tool

_SOURCE = Path(__file__).parent / "java" / "FaultyFileSystem.java"
# Operations of Hadoop's file system, with how many of them a statement may do.
_HADOOP = {
    "create": 3, "write": 12, "close": 3, "append": 1, "open": 12, "rename": 4, "delete": 4,
    "mkdirs": 4, "list": 8, "status": 20,
}  # fmt: skip
_UNDOABLE = frozenset({"open", "list", "status"})
_TIMEOUT = 2.0
# What could not be undone is removed by a compaction.
_MAY_LEAVE = ("of an aborted transaction",)


def begin(home: Path) -> Errors:
    """Start the session of a child; the name of the directory above is the scheme."""
    scheme = home.parent.name
    classes = str(_compiled())
    settings = {
        "spark.acidsql.txn.timeout": str(_TIMEOUT),
        "spark.driver.extraClassPath": classes,
        "spark.executor.extraClassPath": classes,
        f"spark.hadoop.fs.{scheme}.impl": "FaultyFileSystem",
        f"spark.hadoop.fs.{scheme}.impl.disable.cache": "true",
    }
    if scheme == "file":
        # The driver writes few rows without Hadoop, so tasks write all of them.
        limits._LIMITS = replace(
            limits.limits(), driver_rows=0, driver_events=0, compaction_events=0
        )
    return Errors(worker.started(home, scheme=scheme, settings=settings), scheme)


class Errors:
    """Statements of one session. An operation on files fails in each.

    Args:
        session: the session.
        scheme: of the tables' file system.
    """

    def __init__(self, session: worker.Worker, scheme: str) -> None:
        self._session = session
        self._scheme = scheme
        self._faulty = session.spark.sparkContext._jvm.FaultyFileSystem

    def __call__(self, seed: int) -> Strike:
        """Have an operation fail during a statement."""
        rng = random.Random(seed)
        statement = draw(rng, self._session.state, KINDS)
        after = rng.random() < 0.4
        # Where acidsql calls Hadoop for all, its own calls are among Hadoop's.
        if rng.random() < (0.5 if self._scheme == "file" else 0.9):
            name = rng.choice(sorted(_HADOOP))
            after = after and name not in _UNDOABLE
            self._faulty.arm(name, round(_HADOOP[name] * rng.random() ** 3), after)
            step = f"{self._scheme} {name}"
        else:
            name = rng.choice(steps.FILES)
            arm = steps.Arm(
                step=name, before=not after, number=round(4 * rng.random() ** 3), act=_fail
            )
            self._session.steps.arms.append(arm)
            step = f"acidsql {name}"
        outcome = self._session.attempt(statement.text)
        struck = bool(self._faulty.disarm()) or any(a.struck for a in self._session.steps.arms)
        self._session.steps.arms.clear()
        violation = self._session.verdict_if(
            struck, statement, outcome, may_leave=_MAY_LEAVE, patience=3 * _TIMEOUT
        )
        return Strike(
            step=f"{step} {'after' if after else 'before'}",
            statement=statement.kind,
            struck=struck,
            violation=violation,
        )


def _fail() -> None:
    raise OSError(errno.EIO, "injected: Input/output error")


def _compiled() -> Path:
    """Return the directory of the compiled file system."""
    jars = Path(pyspark.__file__).parent / "jars"
    source = _SOURCE.read_text()

    def compile_into(place: Path) -> None:
        command = ["javac", "-cp", f"{jars}/*", "-d", str(place), str(_SOURCE)]
        run_tool(command, place)

    return prepared("faults", "file-system", [source, pyspark.__version__], compile_into)


def failing(scheme: str, options: Options) -> Iterator[Fault]:
    """Have operations fail with the tables on the file system of a scheme."""
    place = replace(options, home=options.home / scheme)
    yield from strike_each("io", place, module=__name__)


def _run(options: Options) -> Iterator[Fault]:
    """Have half of the faults on each file system."""
    half = options.count // 2
    yield from failing("file", replace(options, count=options.count - half))
    seed = options.seed + options.count - half
    yield from failing("faulty", replace(options, seed=seed, count=half))


FAMILY = Family(
    name="io",
    summary="an operation on files fails, before or after it was done",
    run=_run,
    needed={},
)
