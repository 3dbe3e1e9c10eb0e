"""``acidsql maintain``: a service that compacts and cleans tables until it is stopped.

After the first SIGINT or SIGTERM, the service finishes the running compaction and ends. The second
signal interrupts the compaction, and its entry goes back to the queue. Exit codes: 0 stopped, or
with ``--once`` nothing failed; 1 with ``--once`` a compaction failed, or Spark did not start; 2
wrong usage; 130 interrupted.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
from types import FrameType

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from acidsql.api import working
from acidsql.compaction.rounds import Maintenance, run_round
from acidsql.metastore.model import Compaction, CompactionState, WorkerLimits
from acidsql.metastore.names import object_name
from acidsql.repl.printer import counted

logger = logging.getLogger("acidsql.maintain")

_FORMAT = "%(asctime)s %(levelname)s %(message)s"


class Stop:
    """Signal handler that requests the end of the service.

    Attributes:
        wanted: event that the first signal sets.
    """

    def __init__(self) -> None:
        self.wanted = threading.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        if self.wanted.is_set():
            raise KeyboardInterrupt
        logger.info("%s: ends after the compaction at work", signal.Signals(number).name)
        self.wanted.set()


def log_to_stderr() -> None:
    """Write acidsql's log to standard error, one line for each record."""
    logging.basicConfig(stream=sys.stderr, format=_FORMAT)
    logging.getLogger("acidsql").setLevel(logging.INFO)


def maintain(
    spark: SparkSession,
    chosen: WorkerLimits,
    *,
    stop: Stop,
    database: str | None,
    interval: float,
    once: bool,
) -> int:
    """Run rounds of maintenance until a signal arrives; return the exit code.

    Args:
        spark: the session; its own background compaction is switched off.
        chosen: limits that select the compactions to run.
        stop: signal handler that requests the end.
        database: the only database to maintain; None for all.
        interval: seconds from the end of a round to the beginning of the next.
        once: whether to run only one round.
    """
    failed, rounds, compacted = False, 0, 0
    while not stop.wanted.is_set():
        try:
            report = _round(spark, chosen, stop, database)
        except (PySparkException, OSError):
            logger.exception("a round has failed; the next one is in %g s", interval)
            failed = True
        else:
            failed = bool(report.failed)
            compacted += len(report.compacted)
        rounds += 1
        if once:
            break
        stop.wanted.wait(interval)
    logger.info("ended after %s, %d compacted", counted(rounds, "round"), compacted)
    return int(failed and once)


def _round(
    spark: SparkSession, chosen: WorkerLimits, stop: Stop, database: str | None
) -> Maintenance:
    with working(spark) as session:
        try:
            report = run_round(session, chosen, database, lambda: not stop.wanted.is_set(), _report)
        except KeyboardInterrupt:
            logger.warning("interrupted: the compaction at work goes back to the queue")
            raise
    if report != Maintenance():
        logger.info(
            "round: %d requested, %d compacted, %d failed, %d cleaned",
            len(report.requested),
            len(report.compacted),
            len(report.failed),
            len(report.cleaned),
        )
    return report


def _report(entry: Compaction) -> None:
    level = logging.ERROR if entry.state is CompactionState.FAILED else logging.INFO
    logger.log(
        level,
        "compaction %d, %s of %s: %s%s",
        entry.compaction_id,
        entry.type.value,
        object_name(entry.database, entry.table, entry.partition),
        entry.state.value,
        f": {entry.error}" if entry.error else "",
    )
