"""Child processes of a campaign: each has a session, and makes one fault after the other.

``python -m tests.faults.children MODULE HOME`` imports a module with a function ``begin(home)``. It
returns a function ``strike(seed)``, which makes a fault and returns its ``Strike``. Seeds come as
lines of standard input, and each answer is a line of JSON.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from tests import class_data
from tests.faults.campaign import Fault, Options

ROOT = Path(__file__).parent.parent.parent
# A machine that others use as well may take long.
_START_SECONDS = 900.0
_READY = "ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strike:
    """Fault of a child; the attributes are those of ``Fault``."""

    step: str
    statement: str
    struck: bool
    violation: str | None = None


class ChildError(Exception):
    """Error of a child that died, or does not answer."""


class Child:
    """Child process with a session.

    Args:
        module: name of the module with ``begin``.
        home: its directory.
        variables: environment variables besides those of this process.
    """

    def __init__(self, module: str, home: Path, variables: Mapping[str, str]) -> None:
        home.mkdir(parents=True, exist_ok=True)
        self._log = home / "log"
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.children", module, str(home)],
                cwd=home,
                env=environment(variables),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                start_new_session=True,
            )

    def ask(self, line: str, seconds: float) -> Any:
        """Send a line, and return the answer.

        Raises:
            ChildError: it died, or does not answer in time.
        """
        stdin, _ = self._pipes()
        try:
            stdin.write(line + "\n")
            stdin.flush()
        except BrokenPipeError as error:
            raise ChildError(f"it has died: {self._last_words()}") from error
        return self.answer(seconds)

    def answer(self, seconds: float) -> Any:
        """Return the next answer.

        Raises:
            ChildError: it died, or does not answer in time.
        """
        _, stdout = self._pipes()
        with selectors.DefaultSelector() as selector:
            selector.register(stdout, selectors.EVENT_READ)
            if not selector.select(seconds):
                raise ChildError(f"it is stuck: no answer in {seconds:g} s: {self._last_words()}")
        answer = stdout.readline()
        if not answer:
            raise ChildError(f"it has died: {self._last_words()}")
        return json.loads(answer)

    def stop(self) -> None:
        """End it and its JVM."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        for pipe in self._pipes():
            with contextlib.suppress(BrokenPipeError):
                pipe.close()
        self.process.wait()

    def _pipes(self) -> tuple[IO[str], IO[str]]:
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        return stdin, stdout

    def _last_words(self) -> str:
        return self._log.read_text(errors="replace")[-2000:]


def environment(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a process that runs Spark."""
    return {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SUBMIT_OPTS": class_data.java_options(),
        **variables,
    }


def strike_each(
    family: str,
    options: Options,
    *,
    module: str,
    variables: Callable[[Path], Mapping[str, str]] = lambda _: {},
    seconds: float = 600.0,
) -> Iterator[Fault]:
    """Have a child make all faults of a campaign; a child that dies or is stuck is a violation, and
    the next fault gets a new one.

    Args:
        family: name of the family.
        options: of the campaign.
        module: name of the module with ``begin``.
        variables: environment variables of a child in a directory.
        seconds: longest time for a fault.
    """
    child: Child | None = None
    home = options.home
    try:
        for seed in range(options.seed, options.seed + options.count):
            if child is None:
                home = options.home / f"from-{seed}"
                home.mkdir(parents=True, exist_ok=True)
                child = Child(module, home, variables(home))
                child.answer(_START_SECONDS)
            try:
                fault = Fault(family=family, seed=seed, **child.ask(str(seed), seconds))
            except ChildError as error:
                fault = Fault(
                    family=family, step="?", statement="?", seed=seed, violation=str(error)
                )
            yield fault
            if fault.violation is not None:
                child.stop()  # its tables are kept for a look
                child = None
    finally:
        if child is not None:
            child.stop()
            shutil.rmtree(home, ignore_errors=True)


def main() -> None:
    """Make faults for the parent process."""
    _, module, home = sys.argv
    # What Spark or others print must not come between the answers.
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    strike: Callable[[int], Strike] = importlib.import_module(module).begin(Path(home))
    _tell(answers, _READY)
    for line in sys.stdin:
        _tell(answers, asdict(strike(int(line))))


def _tell(answers: IO[str], answer: Any) -> None:
    answers.write(json.dumps(answer) + "\n")
    answers.flush()


if __name__ == "__main__":
    main()
