"""Background thread of a session, which runs the compactions that the session's writes require.

A statement only wakes the thread. The thread runs the initiator, the compactions and the cleaner.
After each round it rests for longer than the round took, so that most of the machine's time remains
for statements.
"""

from __future__ import annotations

import logging
import threading
import time

from acidsql import bridge
from acidsql.compaction import cleaner, worker
from acidsql.compaction.initiator import initiate
from acidsql.format.thresholds import SETTINGS, Thresholds, with_settings
from acidsql.limits import limits
from acidsql.metastore.model import WorkerLimits
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import at_work
from acidsql.session.settings import AutoCompaction, hive_settings

logger = logging.getLogger(__name__)

_creation = threading.Lock()


def notice(session: AcidSession) -> None:
    """Wake the background thread of a session if the session has written."""
    if not session.has_written or session.settings.auto_compaction is AutoCompaction.OFF:
        return
    session.has_written = False
    with _creation:
        if session.wake_compactor is None:
            compactor = BackgroundCompactor(session)
            session.wake_compactor = compactor.wake
            session.at_close.callback(compactor.stop)
            # A job may stop Spark immediately after its last statement.
            bridge.before_stop(session.spark, compactor.stop)
    session.wake_compactor()


class BackgroundCompactor:
    """Thread that initiates, compacts and cleans for a session; the first ``wake`` starts it.

    It is a daemon, so it never keeps a process alive.
    """

    def __init__(self, session: AcidSession) -> None:
        self._session = session
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._is_woken = False
        self._is_stopping = False
        # Entries that the last cleaning left in the queue, and the time of this cleaning.
        self._left: frozenset[int] = frozenset()
        self._cleaned = 0.0
        self._tag = f"acidsql-compaction-{id(self)}"

    def wake(self) -> None:
        """Make the thread run a round."""
        with self._condition:
            self._is_woken = True
            if self._thread is None and not self._is_stopping:
                thread = threading.Thread(target=self._run, name="acidsql-compactor", daemon=True)
                thread.start()
                self._thread = thread
            self._condition.notify_all()

    def stop(self) -> None:
        """Run a last round, and end the thread.

        A compaction that takes too long is interrupted: its transaction is aborted, and its entry
        goes back to the queue.
        """
        with self._condition:
            self._is_stopping = True
            self._condition.notify_all()
            thread = self._thread
        if thread is None:
            return
        thread.join(limits().compactor_end_seconds)
        if thread.is_alive():
            self._session.interrupted.set()
            self._session.spark.sparkContext.cancelJobsWithTag(self._tag)
            thread.join(limits().compactor_interrupt_seconds)
        if thread.is_alive():
            logger.warning("a compaction is at work at the end of its session, and will be redone")

    def _run(self) -> None:
        spark, rest = self._session.spark, 0.0
        spark.sparkContext.addJobTag(self._tag)
        defaults = Thresholds(least_delta_bytes=limits().least_delta_bytes)
        thresholds = with_settings(defaults, hive_settings(spark, SETTINGS))
        goes_on = True
        while goes_on:
            goes_on = self._wait(rest)  # when it returns False, run a last round
            begun = time.monotonic()
            try:
                with at_work(), bridge.active(spark), bridge.without_plans(spark):
                    has_worked = self._work(thresholds)
            # Catch every error: if the thread ended, the session would no longer compact.
            except Exception:
                logger.exception("the background compaction of a session failed")
                has_worked = True
            taken = time.monotonic() - begun
            rest = taken * limits().compactor_rest_part if has_worked else 0.0

    def _wait(self, rest: float) -> bool:
        """Wait until there is something to do; return False when the session ends."""
        with self._condition:
            self._condition.wait_for(lambda: self._is_stopping, rest)
            self._condition.wait_for(lambda: self._is_woken or self._is_stopping)
            self._is_woken = False
            return not self._is_stopping

    def _work(self, thresholds: Thresholds) -> bool:
        """Run a round; return whether it did more than examine tables."""
        session = self._session
        requested = initiate(session, thresholds)
        if session.settings.auto_compaction is not AutoCompaction.ON:
            return bool(requested)
        chosen = WorkerLimits(most_bytes=session.settings.compaction_bytes)
        has_worked = bool(requested)
        while not session.interrupted.is_set() and worker.try_next(session, chosen):
            has_worked = True
        return self._clean() or has_worked

    def _clean(self) -> bool:
        """Clean, and return whether the cleaner completed an entry.

        Skip this if the last cleaning was a moment ago and left the same entries. A table may keep
        its history, or a directory may not be removable.
        """
        metastore = self._session.metastore
        ready = {c.compaction_id for c in metastore.ready_to_clean()}
        is_soon = time.monotonic() - self._cleaned < limits().cleaner_pause_seconds
        if not ready or (ready <= self._left and is_soon):
            return False
        done = cleaner.clean(self._session, collect=False)
        self._left, self._cleaned = frozenset(ready.difference(done)), time.monotonic()
        return bool(done)
