"""Run statements in a thread and cancel them."""

import signal

import pytest
from pyspark.sql import SparkSession

from acidsql.repl.runner import fetch, run_statement
from tests.limits import set_limits

# Each of the two tasks computes one row, which Spark does not interrupt, for about a second.
_LONG_ROWS = """
SELECT aggregate(sequence(1L, 5000000L), id, (sum, number) -> sum + number % 7) AS total
FROM range(0, 2, 1, 2)
"""


class _CtrlC:
    """Display of a statement's progress that presses Ctrl-C when the first tasks run."""

    def __init__(self, spark: SparkSession) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self.cancelled: list[int] = []

    def show(self, completed: int, known: int, seconds: float) -> None:
        del completed, known, seconds
        self.cancelled = [
            stage
            for stage in self._tracker.getActiveStageIds()
            if (info := self._tracker.getStageInfo(stage)) is not None and info.numActiveTasks
        ]
        if self.cancelled:
            signal.raise_signal(signal.SIGINT)

    def clear(self) -> None: ...


@pytest.mark.spark
def test_a_cancelled_statement_is_over_when_its_tasks_are(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark logs an error for a task that ends while the session stops."""
    set_limits(monkeypatch, cancelled_tasks_seconds=60.0)
    progress = _CtrlC(spark)
    outcome = run_statement(
        spark,
        _LONG_ROWS,
        work=lambda session, text: fetch(session.sql(text), 10),
        progress=progress,
    )
    assert outcome.cancelled
    assert progress.cancelled
    tracker = spark.sparkContext.statusTracker()
    stages = map(tracker.getStageInfo, progress.cancelled)
    assert [stage.numActiveTasks for stage in stages if stage is not None] == [0]
