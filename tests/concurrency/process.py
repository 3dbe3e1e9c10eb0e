"""Process with a Spark session of its own, which takes orders from standard input.

``python -m tests.concurrency.process HOME NAME TABLES ROLES``: orders are lines of JSON; answers
are pickled into the file that the order names, and announced by a line of standard output.
"""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tests.concurrency import recorder
from tests.concurrency.changes import Table
from tests.concurrency.sessions import METASTORE, open_session
from tests.concurrency.warehouses import warehouse_of
from tests.concurrency.workers import Records, Rest, Role, Workers

_DONE = "acidsql: done"


class Process:
    """Another process that works as ``Workers`` do."""

    def __init__(
        self, home: Path, name: str, tables: Sequence[Table], roles: Sequence[Role]
    ) -> None:
        self._answer = home / f"{name}.pickle"
        given = home / f"{name}.tables"
        given.write_bytes(pickle.dumps(list(tables)))
        words = [str(home), name, str(given), ",".join(roles)]
        self._program = subprocess.Popen(
            [sys.executable, "-m", "tests.concurrency.process", *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.pid = self._program.pid
        self._wait()

    def work(self, seed: int, seconds: float) -> Records:
        """Let it work for some seconds; return what it did."""
        found: Records = self._ask(order="work", seed=seed, seconds=seconds)
        return found

    def rest(self) -> Rest:
        """Let it let go of everything."""
        found: Rest = self._ask(order="rest")
        return found

    def stop(self) -> None:
        """End it."""
        self._program.communicate(json.dumps({"order": "stop"}) + "\n", timeout=120)

    def _ask(self, **order: object) -> Any:
        assert self._program.stdin is not None
        self._program.stdin.write(json.dumps(order) + "\n")
        self._program.stdin.flush()
        self._wait()
        answer = pickle.loads(self._answer.read_bytes())
        self._answer.unlink()
        return answer

    def _wait(self) -> None:
        assert self._program.stdout is not None
        for line in self._program.stdout:
            if line.strip() == _DONE:
                return
        raise ChildProcessError(f"a process ended with {self._program.wait()}")


def main(home: Path, name: str, tables: Path, roles: Sequence[Role]) -> None:
    """Take orders until the order to stop."""
    spark = open_session(home, name)
    workers = Workers(name, spark, home / METASTORE, pickle.loads(tables.read_bytes()), roles)
    print(_DONE, flush=True)
    with recorder.recording(warehouse_of(home)):
        for line in sys.stdin:
            order = json.loads(line)
            if order["order"] == "stop":
                break
            answer: object
            if order["order"] == "work":
                answer = workers.work(order["seed"], order["seconds"])
            else:
                answer = workers.rest()
            (home / f"{name}.pickle").write_bytes(pickle.dumps(answer))
            print(_DONE, flush=True)
    workers.stop()
    spark.stop()


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        sys.argv[2],
        Path(sys.argv[3]),
        [Role(role) for role in sys.argv[4].split(",")],
    )
