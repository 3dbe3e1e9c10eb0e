"""Family ``disk``: the file system of the tables, of the metastore or of both is full.

It mounts small file systems of memory, which takes the rights of root.
"""

from __future__ import annotations

import contextlib
import os
import random
import subprocess
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.faults import steps, worker
from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import Strike, strike_each
from tests.faults.workload import KINDS, draw

_MEBIBYTES = 24
_MOST_SECONDS = 1.0
_TIMEOUT = 2.0
_SMALL = "small"
# A commit that failed leaves its directories, which no reader sees; a compaction removes them.
_MAY_LEAVE = ("of an aborted transaction",)
WHERE = ("tables-and-metastore", "tables", "metastore")


def begin(home: Path) -> Disk:
    """Start the session of a child; the name of a directory above says what the small disk has."""
    where = home.parent.name
    small = home / _SMALL
    tables = small if "tables" in where else home
    metastore = small if "metastore" in where else home
    settings = {
        "spark.acidsql.txn.timeout": str(_TIMEOUT),
        "spark.acidsql.metastore": str(metastore / "metastore.sqlite"),
    }
    return Disk(worker.started(home, disk=tables, settings=settings), small, where)


class Disk:
    """Statements of one session while a disk is full.

    Args:
        session: the session.
        small: where the small file system is mounted.
        where: what is on it.
    """

    def __init__(self, session: worker.Worker, small: Path, where: str) -> None:
        self._session = session
        self._ballast = small / "ballast"
        self._where = where

    def __call__(self, seed: int) -> Strike:
        """Fill the disk before or during a statement."""
        rng = random.Random(seed)
        statement = draw(rng, self._session.state, KINDS)
        free = rng.choice([0, 0, rng.randrange(8), rng.randrange(32), rng.randrange(150)]) * 1024
        step = rng.choice(
            ["from the start"] * 4 + ["random"] * 2 + [*steps.of_statement(statement.kind)]
        )
        arm = steps.Arm(
            step=step, before=rng.random() < 0.6, number=0, act=lambda: self._fill(free)
        )
        timer = threading.Timer(rng.uniform(0, _MOST_SECONDS) * rng.random(), arm.act)
        if step == "from the start":
            self._fill(free)
        elif step == "random":
            timer.start()
        else:
            self._session.steps.arms.append(arm)
        outcome = self._session.attempt(statement.text)
        timer.cancel()
        if timer.ident is not None:
            timer.join()
        self._session.steps.arms.clear()
        self._ballast.unlink(missing_ok=True)
        struck = not outcome.returned
        violation = self._session.verdict_if(
            struck, statement, outcome, may_leave=_MAY_LEAVE, patience=3 * _TIMEOUT
        )
        return Strike(
            step=f"{self._where}: {step}",
            statement=statement.kind,
            struck=struck,
            violation=violation,
        )

    def _fill(self, free: int) -> None:
        """Leave only so many bytes, by the count of the file system."""
        system = os.statvfs(self._ballast.parent)
        size = system.f_bavail * system.f_frsize - free
        with contextlib.suppress(OSError), self._ballast.open("wb") as file:
            while size > 0:
                size -= file.write(bytes(min(size, 1 << 16)))


@contextlib.contextmanager
def _mounted(place: Path) -> Iterator[None]:
    place.mkdir(parents=True, exist_ok=True)
    options = f"size={_MEBIBYTES}m"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def filled(where: str, options: Options) -> Iterator[Fault]:
    """Fill a disk on which is what ``where`` says."""
    place = replace(options, home=options.home / where)
    with contextlib.ExitStack() as mounts:

        def mount(home: Path) -> dict[str, str]:
            mounts.enter_context(_mounted(home / _SMALL))
            return {}

        yield from strike_each("disk", place, module=__name__, variables=mount)


def _run(options: Options) -> Iterator[Fault]:
    """Have a third of the faults with each kind of contents."""
    for number, where in enumerate(WHERE):
        first, end = (options.count * n // len(WHERE) for n in (number, number + 1))
        yield from filled(where, replace(options, seed=options.seed + first, count=end - first))


FAMILY = Family(
    name="disk",
    summary="a file system that is full, with tables, metastore or both on it (needs root)",
    run=_run,
    needed={},
)
