"""Automatic retries of statements after a conflict with another transaction."""

from __future__ import annotations

import logging
import random
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from typing import TypeVar

from pyspark.sql import DataFrame

from acidsql import bridge
from acidsql.errors import TableReplacedError, WriteConflictError
from acidsql.limits import limits
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import current
from acidsql.session.settings import retries
from acidsql.transactions.current import current_transaction
from acidsql.transactions.turns import turn_on

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

_MOST_REPLACEMENTS = 5
_given_up: ContextVar[threading.Event | None] = ContextVar("acidsql_given_up", default=None)


@contextmanager
def no_retries_after(event: threading.Event) -> Iterator[None]:
    """Let an event end the retries of the statements that this thread runs in the block.

    The event also ends the pause before a retry. This is meant for threads that no signal
    interrupts.
    """
    token = _given_up.set(event)
    try:
        yield
    finally:
        _given_up.reset(token)


def run_again_after_conflicts(
    session: AcidSession, attempt: Callable[[], Answer], frames: Iterable[DataFrame] = ()
) -> Answer:
    """Run a statement; if it loses a conflict, run all of it again on a new snapshot.

    The loser has been rolled back, so no reader has seen its results. It runs again up to
    ``spark.acidsql.retries`` times. A random pause precedes each retry, and its upper bound doubles
    each time. The statement also waits for its turn among the statements of this process that have
    lost on the same table. Other errors, for example an unknown outcome of the commit, end the
    retries. There are no retries in a transaction of several statements, because its snapshot
    remains the same.

    A statement runs again immediately if another transaction replaced a table while it began. It
    has done nothing yet at that point.

    Args:
        session: the session.
        attempt: runs the statement from its beginning.
        frames: DataFrames that the statement reads.

    Raises:
        AcidAnalysisError: INVALID_CONF_VALUE.
        WriteConflictError: CONCURRENT_WRITE, from the last attempt.
        TableReplacedError: TABLE_REPLACED, from the last of a few attempts.
    """
    if current_transaction(session) is not None:
        return attempt()
    given_up = _given_up.get() or threading.Event()
    done = replaced = 0
    lost_on: str | None = None
    while True:
        try:
            with turn_on(session, lost_on, given_up) if lost_on else nullcontext():
                return attempt()
        except TableReplacedError:
            replaced += 1
            if replaced > _MOST_REPLACEMENTS or not _may_run_again(frames):
                raise
        except WriteConflictError as error:
            # The name of the table precedes the partition.
            lost_on = error.parameters.get("object", "").partition("/")[0] or None
            if done >= retries(session.spark) or not _may_run_again(frames):
                raise
            # Full jitter, so that the losers of one conflict do not collide again.
            bound = min(limits().longest_retry_seconds, limits().first_retry_seconds * 2**done)
            if given_up.wait(random.uniform(0.0, bound)):
                raise
            done += 1
            logger.info("retry %d after %s", done, error)
        current().begin_again()


def _may_run_again(frames: Iterable[DataFrame]) -> bool:
    """Return whether a statement that has lost a conflict can run again automatically.

    It cannot if values of its DataFrames were observed (``DataFrame.observe``), because another run
    could compute other values.
    """
    return not any(map(bridge.is_observed_once, frames))
