"""Rounds of maintenance: the initiator looks, workers compact, and the cleaner cleans."""

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
        compacted: compactions that were done, or refused because there was nothing to merge.
        failed: compactions that have failed; the queue has their errors.
        cleaned: compactions and cleanups whose old directories were removed.

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
    """Look at everything that was written to, do the compactions in the queue, and clean.

    On a Hive Metastore the part of its own initiator or cleaner is left to it, if it is on.

    Args:
        session: the session.
        chosen: which compactions are done.
        database: the only one that is looked at and cleaned; None for all. Compactions are done in
            the order of the queue, whatever their database.
        goes_on: returns whether to go on. It is called before each compaction.
        done: is called with each compaction, as it is in the queue then.
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
