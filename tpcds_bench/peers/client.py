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
# Name of an exception class of Java or Python; when the JVM dies, a thread name precedes it.
_TELLING = re.compile(r"(Exception in thread .* )?([a-zA-Z]\w*\.)*\w*(Error|Exception)\b")


class WorkerError(RuntimeError):
    """Error of a worker that failed to do its task."""


class Client:
    """Client that sends tasks to a worker.

    Args:
        process: the worker.
        log: file with the worker's output.
    """

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self.processes = psutil.Process(process.pid)
        """The worker; its JVM is a child process."""
        self.versions: dict[str, str] = self._answer()

    def ask(self, do: str, **what: Any) -> Any:
        """Let the worker do a task; return its result.

        Raises:
            WorkerError: the task failed, or the worker has ended.
        """
        if self._process.stdin is None:
            raise WorkerError("the worker has no standard input")
        with contextlib.suppress(BrokenPipeError):  # the answer contains the reason
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
    """Start a worker, and at the end stop it with all its child processes.

    Args:
        python: interpreter of the worker's environment.
        engine: name of the engine.
        work: empty directory for the worker's tables.
        driver_memory: heap of the worker's JVM, in Spark's notation.

    Raises:
        WorkerError: the worker did not start.
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
    """Let a worker stop Spark; then kill processes that are still running."""
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
