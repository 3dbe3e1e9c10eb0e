"""Background thread of a session, which compacts what the session's writes have made necessary.

A statement only wakes the thread. It looks at what is due (``initiator``), does the compactions and
cleans up. It rests after each, for longer than it has worked, so that most of the machine is left
to statements.
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
    """Have the background thread of a session look at what was written, if anything was."""
    if not session.has_written or session.settings.auto_compaction is AutoCompaction.OFF:
        return
    session.has_written = False
    with _creation:
        if session.wake_compactor is None:
            compactor = BackgroundCompactor(session)
            session.wake_compactor = compactor.wake
            session.at_close.callback(compactor.stop)
            # A job stops Spark as soon as its last statement is done.
            bridge.before_stop(session.spark, compactor.stop)
    session.wake_compactor()


class BackgroundCompactor:
    """Thread that initiates, compacts and cleans for a session; it starts when it is first woken.

    It is a daemon: it never keeps a process alive.
    """

    def __init__(self, session: AcidSession) -> None:
        self._session = session
        self._thread: threading.Thread | None = None
        self._condition = threading.Condition()
        self._is_woken = False
        self._is_stopping = False
        # Entries that the last cleaning has left, and when that was.
        self._left: frozenset[int] = frozenset()
        self._cleaned = 0.0
        self._tag = f"acidsql-compaction-{id(self)}"

    def wake(self) -> None:
        """Have the thread look at what is due."""
        with self._condition:
            self._is_woken = True
            if self._thread is None and not self._is_stopping:
                thread = threading.Thread(target=self._run, name="acidsql-compactor", daemon=True)
                thread.start()
                self._thread = thread
            self._condition.notify_all()

    def stop(self) -> None:
        """Look at what is due for the last time, and end.

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
        own = Thresholds(least_delta_bytes=limits().least_delta_bytes)
        thresholds = with_settings(own, hive_settings(spark, SETTINGS))
        goes_on = True
        while goes_on:
            goes_on = self._wait(rest)  # and a last time
            begun = time.monotonic()
            try:
                with at_work(), bridge.active(spark), bridge.without_plans(spark):
                    has_worked = self._work(thresholds)
            # The edge of a thread: an error that ended it would end all compactions of the session.
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
        """Do what is due; return whether that was more than to look."""
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
        """Clean, unless all that waits was left by the last cleaning a moment ago; return whether
        anything was cleaned.

        A table may keep its history, or a directory may not be removable.
        """
        metastore = self._session.metastore
        ready = {c.compaction_id for c in metastore.ready_to_clean()}
        is_soon = time.monotonic() - self._cleaned < limits().cleaner_pause_seconds
        if not ready or (ready <= self._left and is_soon):
            return False
        done = cleaner.clean(self._session, collect=False)
        self._left, self._cleaned = frozenset(ready.difference(done)), time.monotonic()
        return bool(done)
