"""Family ``streams``: a process that streams into a table is killed, and started again.

Each start checks that the table has exactly the rows of the batches that were committed.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from tests.faults.campaign import Family, Fault, Options
from tests.faults.children import environment
from tests.faults.processes import descendants
from tests.faults.stream_program import changes

_FILES_PER_START = 5
_SECONDS = 900.0
_MOST_SECONDS = 1.5


class Program:
    """Run of the streaming process, with the lines that it has printed."""

    def __init__(self, home: Path) -> None:
        with (home / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.stream_program", str(home)],
                cwd=home,
                env=environment({}),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for line in self.process.stdout or ():
            self.lines.append(line.strip())

    def wait_for(self, start: str, number: int = 1) -> bool:
        """Wait for a number of lines that start so; return False if the process ends before."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            ended = self.process.poll() is not None
            if sum(line.startswith(start) for line in self.lines) >= number:
                return True
            if ended:
                self._reader.join(1)
                return sum(line.startswith(start) for line in self.lines) >= number
            time.sleep(0.01)
        return False

    def kill(self, which: str) -> None:
        """Kill Python, its JVM, or both, and wait until both have ended."""
        below = descendants(self.process.pid)
        jvms = [p for p, command in below.items() if "java" in command.split(" ")[0]]
        chosen = {"python": [self.process.pid], "jvm": jvms, "both": [self.process.pid, *jvms]}
        for process in chosen[which]:
            os.kill(process, signal.SIGKILL)
        for process in (self.process.pid, *jvms):
            deadline = time.monotonic() + 20
            while Path(f"/proc/{process}").exists() and time.monotonic() < deadline:
                self.process.poll()
                time.sleep(0.02)
        self.end()

    def end(self) -> None:
        """End what is left of it."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    @property
    def violation(self) -> str | None:
        """What it has found wrong."""
        return next((line for line in self.lines if line.startswith("wrong")), None)


def _run(options: Options) -> Iterator[Fault]:
    home = options.home / "stream"
    (home / "files").mkdir(parents=True)
    number = 0
    for seed in range(options.seed, options.seed + options.count):
        chance = random.Random(seed)
        for _ in range(_FILES_PER_START):
            number = _add(home, number)
        yield _fault(home, seed, chance)
    program = Program(home)
    ended = program.wait_for("checked", 2)
    program.end()
    violation = program.violation
    if violation is None and not (ended and program.lines[-1] == f"checked {number}"):
        violation = f"of {number} batches are there: {program.lines[-3:]}"
    yield Fault(family="streams", step="the end", statement="MERGE", seed=-1, violation=violation)


def _add(home: Path, number: int) -> int:
    """Add a file that counts as newer than all others; return how many there are."""
    hidden = home / f".{number:06}"
    hidden.write_text("\n".join(json.dumps(change._asdict()) for change in changes(number)))
    os.utime(hidden, (1_700_000_000 + number, 1_700_000_000 + number))
    hidden.rename(home / "files" / f"{number:06}.json")
    return number + 1


def _fault(home: Path, seed: int, chance: random.Random) -> Fault:
    program = Program(home)
    which = chance.choice(["python", "jvm", "both"])
    moment = chance.choice(["batch", "begins", "written"])
    try:
        struck = program.wait_for("batch", chance.randint(1, 2 * _FILES_PER_START - 1))
        if moment != "written":
            time.sleep(chance.random() * _MOST_SECONDS)
        struck = struck and program.process.poll() is None
        program.kill(which)
    finally:
        program.end()
    violation = program.violation
    if violation is None and not any(line.startswith("checked") for line in program.lines):
        violation = f"it did not start: {program.lines}, see {home / 'log'}"
    return Fault(
        family="streams",
        step=which,
        statement="MERGE",
        seed=seed,
        struck=struck,
        violation=violation,
    )


FAMILY = Family(
    name="streams",
    summary="a streaming query is killed and started again: no row is lost or doubled",
    run=_run,
    needed={},
)
