"""Writers, readers and compactors of one process, which work for a while and are recorded."""

from __future__ import annotations

import ctypes
import gc
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path
from random import Random

from py4j.finalizer import ThreadSafeFinalizer
from pyspark.sql import DataFrame, SparkSession

import acidsql
from acidsql import bridge
from acidsql.session.acid_session import AcidSession
from tests.concurrency import recorder
from tests.concurrency.changes import Table, random_compaction
from tests.concurrency.histories import Reading, Snapshot, Statement
from tests.concurrency.several import random_work

_HELD = 4  # DataFrames that a reader holds at most


class Role(StrEnum):
    """What a thread does."""

    WRITER = "writer"
    NEW_SESSION = "new session"  # a writer with a session of its own, another one in each round
    READER = "reader"
    COMPACTOR = "compactor"


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """DataFrame that a reader holds, with what it gave when it was evaluated first."""

    frame: DataFrame
    reading: Reading
    evaluated: bool


@dataclass(slots=True, kw_only=True)
class Records:
    """What a process did in a round."""

    statements: list[Statement] = field(default_factory=list)
    readings: list[Reading] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """State of a process that has nothing to do.

    Attributes:
        references: Java objects that Python holds.
        heap: bytes of the JVM's heap in use after a collection.
        sessions: open sessions of acidsql.
        leases: of all of them.
    """

    references: int
    heap: int
    sessions: int
    leases: int


class Workers:
    """Threads of one process over its Spark session, one for each role.

    Args:
        name: of the process.
        spark: session that writers, readers and compactors share.
        metastore: file of the embedded metastore.
        tables: on which they work.
        roles: of the threads.
    """

    def __init__(
        self,
        name: str,
        spark: SparkSession,
        metastore: Path,
        tables: Sequence[Table],
        roles: Sequence[Role],
    ) -> None:
        self._spark = spark
        self._metastore = metastore
        self._tables = tables
        self._roles = {f"{name} {role} {number}": role for number, role in enumerate(roles)}
        # A thread of its own for each, for as long as they are: Spark keeps one in the JVM for it.
        self._threads = {who: ThreadPoolExecutor(1, who) for who in self._roles}
        self._held: dict[str, list[Held]] = {who: [] for who in self._roles}

    def work(self, seed: int, seconds: float) -> Records:
        """Let all work for some seconds; return what they did."""
        until = time.monotonic() + seconds
        done = [
            self._threads[who].submit(self._loop, who, Random(f"{seed} {who}"), until)
            for who in self._roles
        ]
        records = Records()
        for future in done:
            own = future.result()
            records.statements += own.statements
            records.readings += own.readings
        return records

    def rest(self) -> Rest:
        """Let go of all DataFrames and sessions, and wait until nothing is left of them."""
        for held in self._held.values():
            held.clear()
        gc.collect()
        # Sessions end when another one is created; PySpark itself keeps the last.
        another = AcidSession.of(self._spark.newSession())
        deadline = time.monotonic() + 60
        while _leases() and time.monotonic() < deadline:
            for session in list(AcidSession.open_sessions.values()):
                session.leases.prune(collect=True)
        del another
        runtime = self._spark._jvm.java.lang.Runtime.getRuntime()
        for _ in range(3):
            # Spark itself lets go of broadcasts after a collection that found them unreachable.
            gc.collect()
            bridge.collect_garbage(self._spark)
            time.sleep(0.2)
        _trim()
        return Rest(
            references=len(ThreadSafeFinalizer.finalizers),
            heap=runtime.totalMemory() - runtime.freeMemory(),
            sessions=len(AcidSession.open_sessions),
            leases=_leases(),
        )

    def stop(self) -> None:
        """End the threads."""
        for thread in self._threads.values():
            thread.shutdown()

    def _loop(self, who: str, rng: Random, until: float) -> Records:
        records = Records()
        loops: Mapping[Role, Callable[[str, Random, float, Records], None]] = {
            Role.WRITER: self._write,
            Role.NEW_SESSION: self._write_in_new_session,
            Role.READER: self._read,
            Role.COMPACTOR: self._compact,
        }
        loops[self._roles[who]](who, rng, until, records)
        return records

    def _write(self, who: str, rng: Random, until: float, records: Records) -> None:
        self._write_by(self._spark, who, rng, until, records)

    def _write_in_new_session(self, who: str, rng: Random, until: float, records: Records) -> None:
        self._write_by(self._spark.newSession(), who, rng, until, records)

    def _write_by(
        self, spark: SparkSession, who: str, rng: Random, until: float, records: Records
    ) -> None:
        while time.monotonic() < until:
            change = random_work(rng, self._tables)
            records.statements.append(recorder.run(spark, who, change, self._metastore))

    def _compact(self, who: str, rng: Random, until: float, records: Records) -> None:
        while time.monotonic() < until:
            change = random_compaction(rng, self._tables)
            records.statements.append(recorder.run(self._spark, who, change, self._metastore))
            time.sleep(max(0.0, min(rng.random() * 8, until - time.monotonic())))

    def _read(self, who: str, rng: Random, until: float, records: Records) -> None:
        held = self._held[who]
        while time.monotonic() < until:
            if len(held) < _HELD:
                tables = rng.sample(self._tables, rng.randint(1, len(self._tables)))
                held.append(self.query(who, tables))
            place = rng.randrange(len(held))
            if held[place].evaluated or rng.random() < 0.7:
                held[place] = evaluated(held[place], records)
            if held[place].evaluated and rng.random() < 0.4:
                del held[place]
        # What was not looked at yet must be compared with this round's states.
        for place, one in enumerate(held):
            if not one.evaluated:
                held[place] = evaluated(one, records)

    def query(self, who: str, tables: Sequence[Table]) -> Held:
        """Make a DataFrame over all rows of some tables."""
        began = recorder.last_commit(self._metastore)
        text = " UNION ALL ".join(
            f"SELECT '{t.name}' AS t, row__id, id, v, {'p' if t.partitioned else '0 AS p'} "
            f"FROM {t.name}"
            for t in tables
        )
        with recorder.noted() as notes:
            frame = acidsql.sql(self._spark, text)
        seen: tuple[tuple[str, Snapshot], ...] = tuple(dict.fromkeys(notes.snapshots))
        reading = Reading(
            by=who,
            began=began,
            ended=recorder.last_commit(self._metastore),
            snapshots=seen,
            rows={t.name: {} for t in tables},
        )
        return Held(frame=frame, reading=reading, evaluated=False)


def evaluated(held: Held, records: Records) -> Held:
    """Evaluate a DataFrame, record what it gave, and return it as one that was evaluated."""
    before = held.reading.rows if held.evaluated else None
    try:
        rows = {**{t: {} for t in held.reading.rows}, **recorder.rows_of(held.frame)}
    except Exception as error:  # noqa: BLE001 - the checker reports it
        failed = replace(held.reading, before=before, failure=recorder.condition(error))
        records.readings.append(failed)
        return held
    reading = replace(held.reading, rows=rows, before=before)
    records.readings.append(reading)
    return Held(frame=held.frame, reading=reading, evaluated=True)


def _trim() -> None:
    """Give free memory back to the system.

    The allocator of glibc keeps up to eight arenas for each processor, and threads that come and go
    leave free memory in all of them. This would look like a leak for as long as they fill up.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "malloc_trim"):
        library.malloc_trim(0)


def _leases() -> int:
    return sum(len(session.leases) for session in list(AcidSession.open_sessions.values()))
