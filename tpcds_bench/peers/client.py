"""Client of a worker: a process that does one task at a time."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from tpcds_bench.peers.protocol import receive, send

ROOT = Path(__file__).parents[2]
_STOP_SECONDS = 30
_TOLD = 1500
_LINES = 4
# A class of Java or of Python; the JVM's last words have its thread before it.
_TELLING = re.compile(r"(Exception in thread .* )?([a-zA-Z]\w*\.)*\w*(Error|Exception)\b")


class WorkerError(RuntimeError):
    """Error of a worker that could not do its task."""


class Client:
    """Asks a worker.

    Args:
        process: the worker.
        log: file with all that it printed.
    """

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self.processes = psutil.Process(process.pid)
        """The worker, whose JVM is below it."""
        self.versions: dict[str, str] = self._answer()

    def ask(self, do: str, **what: Any) -> Any:
        """Have something done; what comes of it.

        Raises:
            WorkerError: it failed, or the worker is gone.
        """
        if self._process.stdin is None:
            raise WorkerError("the worker has no standard input")
        with contextlib.suppress(BrokenPipeError):  # the answer says why
            send(self._process.stdin, {"do": do, **what})
        return self._answer()

    def _answer(self) -> Any:
        if self._process.stdout is None:
            raise WorkerError("the worker has no standard output")
        message = receive(self._process.stdout)
        if message is None:
            raise WorkerError(f"the process ended; its errors: {errors(self._log)}")
        if "error" in message:
            raise WorkerError(message["error"][:_TOLD])
        return message["value"]


@contextmanager
def start(python: Path, engine: str, work: Path, *, driver_memory: str) -> Iterator[Client]:
    """Start a worker, and end it with all processes below it.

    Args:
        python: interpreter of the environment that it runs in.
        engine: its name.
        work: empty directory for its tables.
        driver_memory: heap of its JVM, in Spark's notation.

    Raises:
        WorkerError: it does not get ready.
    """
    log = work / "log"
    command = [str(python), "-m", "tpcds_bench.peers.worker", engine, "--work", str(work)]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, "--driver-memory", driver_memory],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
            cwd=work,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
        ) as process,
    ):
        try:
            yield Client(process, log)
        finally:
            _stop(process)


def errors(log: Path) -> str:
    """Return the last lines of a log that report an error, without stack traces."""
    lines = [line.strip() for line in log.read_text(errors="replace").splitlines()]
    telling = [line for line in lines if _TELLING.match(line)]
    return "; ".join(telling[-_LINES:])[-_TOLD:] or "nothing"


def _stop(process: subprocess.Popen[str]) -> None:
    """Let a worker stop Spark; end what is still there then."""
    below = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    try:
        process.wait(_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
    _, alive = psutil.wait_procs(below, timeout=_STOP_SECONDS)
    for child in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
