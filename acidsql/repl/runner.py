"""Runner: runs a statement in a thread, shows its progress, and cancels it on Ctrl-C."""

from __future__ import annotations

import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Generic, Protocol, TypeVar

from pyspark import InheritableThread, SparkContext
from pyspark.sql import DataFrame, SparkSession
from tqdm import tqdm

from acidsql import bridge
from acidsql.limits import limits
from acidsql.repl.rendering import Form, for_people, forms_of
from acidsql.session.owner_thread import acting_for, owner_thread
from acidsql.transactions.retries import no_retries_after

Execute = Callable[[SparkSession, str, str], DataFrame]
"""Runs a statement; ``acidsql.sql`` outside tests."""

Cell = str | int | bool | None

Answer = TypeVar("Answer")

BAR = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} tasks {elapsed}"
"""The format of a progress bar, as ``tqdm`` reads it."""

# Rows that are fetched at once.
_FEW_ROWS = 10_000

LEFT_RUNNING = (
    "left running: the statement did not end when its Spark jobs were cancelled; "
    "its result will not be shown"
)
"""What is said of a statement that was not waited for."""


class Progress(Protocol):
    """Shows how far a statement is. Short statements never get to see it."""

    def show(self, completed: int, known: int, seconds: float) -> None:
        """Show completed and known tasks, and for how long the statement has been running."""

    def clear(self) -> None:
        """Take away what was shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """First rows of a statement's result.

    Attributes:
        columns: column names of the DataFrame.
        numeric: for every column, whether its values are numbers.
        rows: integers and booleans as such, all other values in Spark's own text form, binary ones
            as SQL literals (``X'00FF'``).
        truncated: whether there were more rows than the limit.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[Answer]):
    """Outcome of a statement: a result, an error, or neither if it was left running.

    Attributes:
        result: what the work gave, or None.
        error: exception that the statement raised, or None.
        interrupted: whether the user pressed Ctrl-C while it ran.
        seconds: wall-clock time.
    """

    result: Answer | None
    error: Exception | None
    interrupted: bool
    seconds: float

    @property
    def cancelled(self) -> bool:
        """Whether the error is that the user cancelled the statement."""
        return self.interrupted and "cancel" in str(self.error).lower()


@dataclass(slots=True)
class _Work(Generic[Answer]):
    result: Answer | None = None
    error: Exception | None = None


@dataclass(slots=True)
class _Interrupts:
    count: int = field(default=0)

    def note(self, _signal: int, _frame: FrameType | None) -> None:
        self.count += 1


def run_statement(
    spark: SparkSession,
    text: str,
    *,
    work: Callable[[SparkSession, str], Answer],
    progress: Progress | None,
) -> Outcome[Answer]:
    """Run ``text`` and wait for it, as part of the transaction that the calling thread has begun.

    The first Ctrl-C cancels the Spark jobs of the statement, present and future. A second one stops
    waiting for a statement that does not end (it may be in a step that is not a Spark job).

    Args:
        spark: session to run in.
        text: one statement without semicolon.
        work: runs the statement and gets what is wanted of it.
        progress: where to show how far it is.
    """
    group = f"acidsql-{uuid.uuid4()}"
    done: _Work[Answer] = _Work()

    owner = owner_thread()
    given_up = threading.Event()

    def target() -> None:
        try:
            spark.sparkContext.setJobGroup(group, text, interruptOnCancel=True)
            with acting_for(owner), no_retries_after(given_up):
                done.result = work(spark, text)
        except Exception as error:  # noqa: BLE001 - handed to the waiting thread
            done.error = error

    started = time.monotonic()
    thread = InheritableThread(target=target, daemon=True)
    with _noted_interrupts() as interrupts:
        thread.start()
        _wait(thread, spark.sparkContext, group, given_up, interrupts, progress)
    return Outcome(
        result=done.result,
        error=done.error,
        interrupted=interrupts.count > 0,
        seconds=time.monotonic() - started,
    )


def fetch(frame: DataFrame, limit: int | None) -> Result:
    """Return the first ``limit`` rows of ``frame``, or all, rendered by Spark."""
    columns = tuple(frame.columns)
    if not columns:
        return Result(columns=(), numeric=(), rows=(), truncated=False)
    rows = list(rows_of(for_people(frame), None if limit is None else limit + 1))
    return Result(
        columns=columns,
        numeric=tuple(form is Form.NUMBER for form in forms_of(frame)),
        rows=tuple(rows[:limit]),
        truncated=limit is not None and len(rows) > limit,
    )


def rows_of(frame: DataFrame, limit: int | None) -> Iterator[tuple[Cell, ...]]:
    """Yield the first ``limit`` rows of ``frame``, or all, which are not all in memory at once."""
    found = frame if limit is None else frame.limit(limit)
    # What a command answers is there already, and few rows need few partitions.
    at_once = frame.isLocal() or (limit is not None and limit <= _FEW_ROWS)
    if at_once:
        yield from map(tuple, found.collect())
        return
    with bridge.awaited_errors():
        yield from map(tuple, found.toLocalIterator(prefetchPartitions=True))


def _wait(
    thread: threading.Thread,
    context: SparkContext,
    group: str,
    given_up: threading.Event,
    interrupts: _Interrupts,
    progress: Progress | None,
) -> None:
    started = time.monotonic()
    while thread.is_alive() and interrupts.count < 2:
        seconds = time.monotonic() - started
        if interrupts.count:
            given_up.set()
            # Cancelled repeatedly, because the statement may be between two jobs.
            context.cancelJobGroup(group)
        elif progress is not None and seconds >= limits().progress_delay_seconds:
            completed, known = _task_counts(context, group)
            if known:
                progress.show(completed, known, seconds)
        thread.join(limits().shell_poll_seconds)
    if progress is not None:
        progress.clear()


class TerminalBar:
    """Progress bar on standard error, until it is taken away."""

    def __init__(self) -> None:
        self._bar: tqdm[None] | None = None
        self._is_over = False

    def show(self, completed: int, known: int, seconds: float) -> None:
        """Draw the bar."""
        if self._is_over:
            return
        if self._bar is None:
            self._bar = tqdm(bar_format=BAR, leave=False, file=sys.stderr)
            self._bar.start_t -= seconds
        self._bar.total, self._bar.n = known, completed
        self._bar.refresh()

    def clear(self) -> None:
        """Take the bar away."""
        self._is_over = True
        if self._bar is not None:
            self._bar.close()


def _task_counts(context: SparkContext, group: str) -> tuple[int, int]:
    """Return completed and known tasks of all jobs of a group."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    infos = [info for info in map(tracker.getStageInfo, stages) if info is not None]
    return sum(info.numCompletedTasks for info in infos), sum(info.numTasks for info in infos)


@contextmanager
def _noted_interrupts() -> Iterator[_Interrupts]:
    """Count Ctrl-C instead of raising: an exception could interrupt a call of the JVM."""
    interrupts = _Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    previous = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
