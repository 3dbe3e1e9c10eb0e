"""Leases of DataFrames on the directories that they read.

A lease is a read transaction. It prevents the cleaner from removing the files of its snapshot. A
lease ends when the JVM has collected every file index of the statement, because no DataFrame, view
or cache can then reach the files. It also ends when the session releases it, or at its maximum age.
Reading after the maximum age raises SNAPSHOT_EXPIRED.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import MetastoreError, TransactionStateError
from acidsql.limits import limits
from acidsql.metastore.model import CompactionState
from acidsql.metastore.protocol import Metastore
from acidsql.session.heartbeat import Heartbeater

logger = logging.getLogger(__name__)

_MOST_DOUBLINGS = 4
_MICROSECONDS = 1_000_000


@dataclass(slots=True, kw_only=True)
class Lease:
    """Read transaction of one statement.

    Attributes:
        txn_id: its transaction id.
        opened: time of its start, in seconds since 1970.
        indexes: weak references to the file indexes that depend on it.
        in_statement: whether the statement is still being planned, so that more indexes may follow.
    """

    txn_id: int
    opened: float
    indexes: list[bridge.JavaObject] = field(default_factory=list)
    in_statement: bool = True


class Leases:
    """Leases of one Spark session.

    Attributes:
        max_age: seconds after which a lease ends.
    """

    def __init__(
        self,
        spark: SparkSession,
        metastore: Metastore,
        heartbeater: Heartbeater,
        max_age: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._spark = spark
        self._metastore = metastore
        self._heartbeater = heartbeater
        self._clock = clock
        self._lock = threading.Lock()
        self._leases: dict[int, Lease] = {}
        self._local = threading.local()
        self._watch = bridge.RelationWatch(spark)
        # Time and duration of the last collection for cleaners, and the number of consecutive
        # collections that have ended no lease.
        self._collected = self._collection_seconds = 0.0
        self._fruitless = 0
        self.max_age = max_age

    def __len__(self) -> int:
        return len(self._leases)

    @property
    def txn_ids(self) -> tuple[int, ...]:
        """Read transactions of the leases."""
        with self._lock:
            return tuple(self._leases)

    def begin(self, txn_id: int, *, of_statement: bool = True) -> Lease:
        """Begin the lease of a statement under its read transaction.

        Scans that this thread builds belong to the lease until ``end_statement``.

        Args:
            txn_id: the read transaction.
            of_statement: False for a lease of several statements. Each statement must be built in
                a block of ``resumed``.
        """
        lease = Lease(txn_id=txn_id, opened=self._clock())
        with self._lock:
            self._leases[txn_id] = lease
        self._heartbeater.add(txn_id)
        if of_statement:
            self._local.current = lease
        return lease

    @contextmanager
    def resumed(self, lease: Lease) -> Iterator[None]:
        """Assign the scans that this thread builds in the block to a lease of several statements.

        The age of the lease counts from now on.
        """
        lease.opened = self._clock()
        self._local.current = lease
        try:
            yield
        finally:
            self._local.current = None

    def end_statement(self, lease: Lease, *, kept: bool = True) -> None:
        """Mark the statement's plan as complete: later scans do not belong to its lease.

        Args:
            lease: the lease.
            kept: False if the plan is not kept; the lease then ends now.
        """
        self._local.current = None
        lease.in_statement = False
        if not kept:
            self._end(lease)

    def watch(self, index: bridge.JavaObject) -> None:
        """Keep the current lease as long as this file index is reachable."""
        lease: Lease | None = getattr(self._local, "current", None)
        if lease is not None:
            lease.indexes.append(self._watch.reference(index))

    def expiry(self, lease: Lease) -> int:
        """Return the microseconds since 1970 after which plans under a lease refuse to run.

        The result is rounded down by at most a thousandth of the maximum age. So consecutive
        statements have the same condition, which is analysed only once.
        """
        step = max(1, int(self.max_age * _MICROSECONDS) // 1000)
        end = int((lease.opened + self.max_age) * _MICROSECONDS)
        return end - end % step

    def prune(self, *, collect: bool = False) -> None:
        """End the leases without a reachable plan, and the leases that are too old.

        Args:
            collect: whether the JVM first collects unreachable plans.
        """
        if collect:
            self._collect(limits().collection_pauses)
        self._end_unreachable(look=collect)

    def _end_unreachable(self, *, look: bool) -> None:
        now = self._clock()
        with self._lock:
            candidates = [lease for lease in self._leases.values() if not lease.in_statement]
        # Each index takes a call into the JVM, so check them only if one was collected.
        look = look or self._watch.has_unreachable()
        for lease in candidates:
            is_over = now - lease.opened > self.max_age or not lease.indexes
            if is_over or (look and not any(map(bridge.reachable, lease.indexes))):
                self._end(lease)

    def prune_for_cleaners(self) -> None:
        """End the leases without a reachable plan, for cleaners that wait.

        If a lease is old and a cleaner waits, the JVM first collects unreachable plans. A process
        that only reads creates so little garbage that its JVM may not collect for hours.
        """
        with self._lock:
            oldest = next(iter(self._leases.values()), None)
        if oldest is None or bridge.is_stopped(self._spark):
            return
        collect = self._is_collection_due(oldest) and any(
            entry.state is CompactionState.READY_FOR_CLEANING
            for entry in self._metastore.compactions()
        )
        if not collect:
            self._end_unreachable(look=False)
            return
        begun, before = time.monotonic(), len(self)
        self._collect(limits().collection_pauses[:1])
        self._end_unreachable(look=True)
        self._collected, self._collection_seconds = self._clock(), time.monotonic() - begun
        self._fruitless = self._fruitless + 1 if len(self) >= before else 0

    def _is_collection_due(self, oldest: Lease) -> bool:
        now = self._clock()
        if now - oldest.opened < limits().lease_collection_seconds:
            return False
        interval = collection_interval(self._collection_seconds, self._fruitless)
        return now - self._collected >= interval

    def _collect(self, pauses: Sequence[float]) -> None:
        """Collect unreachable plans; repeat after each pause while a lease is still in use.

        Spark's threads hold a plan for a moment after they have returned its result.
        """
        for pause in pauses:
            with self._lock:
                leases = list(self._leases.values())
            if not any(bridge.reachable(index) for lease in leases for index in lease.indexes):
                return
            time.sleep(pause)
            bridge.collect_garbage(self._spark)

    def release(self) -> None:
        """End the leases of returned DataFrames, so that their files can be removed."""
        with self._lock:
            leases = [lease for lease in self._leases.values() if not lease.in_statement]
        for lease in leases:
            self._end(lease)

    def close(self) -> None:
        """End all leases."""
        with self._lock:
            leases = list(self._leases.values())
        for lease in leases:
            self._end(lease)

    def _end(self, lease: Lease) -> None:
        with self._lock:
            if self._leases.pop(lease.txn_id, None) is None:
                return
        self._heartbeater.remove(lease.txn_id)
        try:
            self._metastore.commit_txn(lease.txn_id)
        except TransactionStateError as error:
            # It timed out while the process was suspended or the metastore was unreachable.
            logger.warning("read txn %s: ended before its lease: %s", lease.txn_id, error)
        except MetastoreError as error:
            # It will time out. No reader uses it, and it has not written anything.
            logger.warning("read txn %s: not ended, the metastore is away: %s", lease.txn_id, error)


def collection_interval(taken: float, fruitless: int) -> float:
    """Return the minimum seconds between two collections for cleaners.

    Args:
        taken: duration of the last collection in seconds.
        fruitless: number of consecutive collections that have ended no lease. In this case the
            program holds the DataFrames, and the cleaner must wait for them anyway.
    """
    least = math.ldexp(limits().lease_collection_seconds, min(fruitless, _MOST_DOUBLINGS))
    return max(least, taken / limits().collection_part)


def not_expired(expires: int) -> str:
    """Build the SQL condition that a plan has not expired, which Spark folds when it plans a run.

    Before the expiry it folds to true. After the expiry, folding fails with SNAPSHOT_EXPIRED before
    the run opens files that may no longer exist. Spark would not fold ``raise_error``, but leave it
    to the tasks. An impossible conversion is the only foldable expression with an error that
    contains a given text in all releases and settings of Spark. The time is a cast of ``'now'``,
    because ``CurrentValues`` replaces all functions that return the current time.
    """
    message = (
        "[SNAPSHOT_EXPIRED] the snapshot of this DataFrame is older than "
        "spark.acidsql.snapshot.maxAge: run the statement again"
    )
    late = f"unix_micros(CAST('now' AS TIMESTAMP_LTZ)) > {expires}L"
    return f"IF({late}, to_binary('{message}', 'hex') IS NULL, true)"
