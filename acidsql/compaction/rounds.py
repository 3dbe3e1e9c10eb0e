"""Rounds of maintenance: initiator, workers and cleaner, in this order."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from acidsql.compaction import cleaner, worker
from acidsql.compaction.initiator import initiate
from acidsql.format.thresholds import SETTINGS, Thresholds, with_settings
from acidsql.metastore.model import NO_LIMITS, Compaction, CompactionState, WorkerLimits
from acidsql.session.acid_session import AcidSession
from acidsql.session.settings import hive_settings


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """Report on a round, with ids in ``SHOW COMPACTIONS``.

    Attributes:
        requested: compactions and cleanups that the initiator has requested.
        compacted: compactions that were completed, or refused because there was nothing to merge.
        failed: compactions that have failed; the queue contains their errors.
        cleaned: compactions and cleanups after which the old directories were removed.

    >>> acidsql.maintenance(spark).failed
    ()
    """

    requested: tuple[int, ...] = ()
    compacted: tuple[int, ...] = ()
    failed: tuple[int, ...] = ()
    cleaned: tuple[int, ...] = ()


def run_round(
    session: AcidSession,
    chosen: WorkerLimits = NO_LIMITS,
    database: str | None = None,
    goes_on: Callable[[], bool] = lambda: True,
    done: Callable[[Compaction], object] = lambda _: None,
) -> Maintenance:
    """Examine all tables with new writes, run the compactions in the queue, and clean.

    If the initiator or the cleaner of a Hive Metastore is on, acidsql leaves this part to it.

    Args:
        session: the session.
        chosen: limits for the compactions to run.
        database: the only database to examine and clean; None for all. Compactions run in the order
            of the queue for all databases.
        goes_on: called before each compaction; returns whether to continue.
        done: called after each compaction with its current queue entry.
    """
    requested: list[Compaction] = []
    if not session.metastore.initiates_compactions:
        thresholds = with_settings(Thresholds(), hive_settings(session.spark, SETTINGS))
        requested = initiate(session, thresholds, written_before=time.time(), database=database)
    compacted: list[int] = []
    failed: list[int] = []
    while goes_on():
        taken = worker.try_next(session, chosen)
        if taken is None:
            break
        history = session.metastore.compactions_of(taken.database, taken.table, taken.partition)
        ended = next((c for c in history if c.compaction_id == taken.compaction_id), taken)
        is_failed = ended.state is CompactionState.FAILED
        (failed if is_failed else compacted).append(taken.compaction_id)
        done(ended)
    cleaned = cleaner.clean(session, database=database) if goes_on() else []
    return Maintenance(
        requested=tuple(c.compaction_id for c in requested),
        compacted=tuple(compacted),
        failed=tuple(failed),
        cleaned=tuple(cleaned),
    )
