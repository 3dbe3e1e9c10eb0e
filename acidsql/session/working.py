"""Scope of acidsql's work for a Spark session."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.deferred_signals import DeferredSignals, Interruptible
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import at_work
from acidsql.session.process import check_process


@contextmanager
def at_work_for(spark: SparkSession) -> Iterator[AcidSession]:
    """Run acidsql for a Spark session during a block, and yield its ``AcidSession``.

    The first signal with a handler that raises interrupts the block. Later signals wait until the
    block has ended.
    """
    check_process(spark)
    with (
        DeferredSignals(),
        Interruptible(),
        at_work(),
        bridge.active(spark),
        bridge.without_plans(spark),
        AcidSession.using(spark) as session,
    ):
        yield session
