"""Runner, which runs a statement in a thread, shows its progress, and cancels it on Ctrl-C."""

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
from pyspark.status import SparkStageInfo
from tqdm import tqdm

from acidsql import bridge
from acidsql.limits import limits
from acidsql.repl.rendering import Form, for_people, forms_of
from acidsql.session.owner_thread import acting_for, owner_thread
from acidsql.transactions.retries import no_retries_after

Execute = Callable[[SparkSession, str, str], DataFrame]
"""Function that runs a statement; outside tests, it is ``acidsql.sql``."""

Cell = str | int | bool | None

Answer = TypeVar("Answer")

BAR = "{percentage:3.0f}%|{bar}| {n_fmt}/{total_fmt} tasks {elapsed}"
"""Format of a progress bar for ``tqdm``."""

# Largest limit for which all rows are fetched in one job.
_FEW_ROWS = 10_000

LEFT_RUNNING = (
    "left running: the statement did not end when its Spark jobs were cancelled; "
    "its result will not be shown"
)
"""Message about a statement that the shell no longer waits for."""


class Progress(Protocol):
    """Display of a statement's progress, which short statements never show."""

    def show(self, completed: int, known: int, seconds: float) -> None:
        """Show the numbers of completed and known tasks, and the statement's running time."""

    def clear(self) -> None:
        """Remove the display."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """First rows of a statement's result.

    Attributes:
        columns: column names of the DataFrame.
        numeric: for each column, whether its values are numbers.
        rows: integers and booleans unchanged, binary values as SQL literals (``X'00FF'``), and all
            other values in Spark's text form.
        truncated: whether there are more rows than the limit.
    """

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    truncated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome(Generic[Answer]):
    """Outcome of a statement: a result, an error, or neither if it was left running.

    Attributes:
        result: return value of ``work``, or None.
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
        """Whether the statement failed because the user cancelled it."""
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
    """Run ``text`` and wait for it, within the transaction of the calling thread.

    The first Ctrl-C cancels the current and later Spark jobs of the statement. The second stops the
    wait, because a statement may be in a step that is not a Spark job.

    Args:
        spark: the session.
        text: one statement without semicolon.
        work: function that runs the statement and returns its result.
        progress: display of the progress; None for no display.
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
    """Return the first ``limit`` rows of ``frame``, or all rows, as Spark renders them."""
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
    """Yield the first ``limit`` rows of ``frame``, or all, without holding all in memory."""
    limited = frame if limit is None else frame.limit(limit)
    # The answer of a command is already computed, and a few rows need only a few partitions.
    at_once = frame.isLocal() or (limit is not None and limit <= _FEW_ROWS)
    if at_once:
        yield from map(tuple, limited.collect())
        return
    with bridge.awaited_errors():
        yield from map(tuple, limited.toLocalIterator(prefetchPartitions=True))


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
            # Cancel repeatedly, because the statement may be between two jobs.
            context.cancelJobGroup(group)
        elif progress is not None and seconds >= limits().progress_delay_seconds:
            completed, known = _task_counts(context, group)
            if known:
                progress.show(completed, known, seconds)
        thread.join(limits().shell_poll_seconds)
    if interrupts.count:
        _await_cancelled_tasks(context, group, interrupts)
    if progress is not None:
        progress.clear()


def _await_cancelled_tasks(context: SparkContext, group: str, interrupts: _Interrupts) -> None:
    """Wait for the tasks of cancelled jobs until the next Ctrl-C, at most for the limit's seconds.

    A job fails before its tasks have ended. Spark logs an error, with a stack trace, for a task
    that ends while the session stops.
    """
    deadline = time.monotonic() + limits().cancelled_tasks_seconds
    while interrupts.count < 2 and time.monotonic() < deadline:
        if not any(stage.numActiveTasks for stage in _stages(context, group)):
            return
        time.sleep(limits().shell_poll_seconds)


class TerminalBar:
    """Progress bar on standard error."""

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
        """Remove the bar, and do not draw it again."""
        self._is_over = True
        if self._bar is not None:
            self._bar.close()


def _task_counts(context: SparkContext, group: str) -> tuple[int, int]:
    """Return the numbers of completed and known tasks of all jobs in a group."""
    stages = _stages(context, group)
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)


def _stages(context: SparkContext, group: str) -> list[SparkStageInfo]:
    """Return what Spark knows of the stages of all jobs in a group."""
    tracker = context.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup(group)]
    stages = {stage for job in jobs if job is not None for stage in job.stageIds}
    return [info for info in map(tracker.getStageInfo, stages) if info is not None]


@contextmanager
def _noted_interrupts() -> Iterator[_Interrupts]:
    """Count Ctrl-C instead of raising an exception, which could interrupt a call to the JVM."""
    interrupts = _Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    previous = signal.signal(signal.SIGINT, interrupts.note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, previous)
