"""Runs of concurrent writers, readers and compactors, checked round by round.

After each round no thread works for a moment: the history of the round is checked, and forgotten.
After some rounds everything is released and compacted, so that what is left then is too much.
"""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil
from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.concurrency import recorder, resources
from tests.concurrency.changes import FAILURES, PARTITIONS, Table
from tests.concurrency.checker import Unit, Verdict, check
from tests.concurrency.histories import History, Rows, State
from tests.concurrency.process import Process
from tests.concurrency.resources import MIB, Sample
from tests.concurrency.sessions import METASTORE
from tests.concurrency.warehouses import warehouse_of
from tests.concurrency.workers import Records, Rest, Role, Workers, evaluated

TABLES = (
    Table(name="plain"),
    Table(name="parts", partitioned=True),
    Table(name="buckets", buckets=3),
)
_PLACES = sum(PARTITIONS if table.partitioned else 1 for table in TABLES)
_MOST_WRITE_IDS = 150  # a table with more is dropped and created again


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Size of a run.

    Attributes:
        seconds: for which it runs.
        seed: of the statements; their order depends on the machine.
        roles: of the threads of this process.
        processes: roles of the threads of each other process.
        round_seconds: time between two checks.
        rounds: number of rounds between two rests.
        unit: of conflicts.
    """

    seconds: float
    seed: int
    roles: Sequence[Role]
    processes: Sequence[Sequence[Role]] = ()
    round_seconds: float = 20
    rounds: int = 2
    unit: Unit = Unit.ROW


@dataclass(slots=True, kw_only=True)
class Report:
    """What a run found.

    Attributes:
        statements: number of statements, by kind.
        failures: number of failures, by condition.
        commits: number of commits.
        overlapping: number of commits before which another one was made while they were at work.
        readings: number of evaluated queries.
        needless: conflicts that were reported where none was, by kind of statement.
        violations: what was wrong.
        samples: of what it used.
        seconds: for which it worked, without the checks.
    """

    statements: Counter[str] = field(default_factory=Counter)
    failures: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    overlapping: int = 0
    readings: int = 0
    needless: Counter[str] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    seconds: float = 0

    def __str__(self) -> str:
        per_second = sum(self.statements.values()) / max(self.seconds, 1)
        lines = [
            f"{sum(self.statements.values())} statements ({per_second:.1f} a second), "
            f"{self.commits} commits, {self.overlapping} of them after others that overlapped, "
            f"{self.readings} queries, in {self.seconds:.0f} s",
            f"statements: {_counted(self.statements)}",
            f"failures: {_counted(self.failures)}",
            f"conflicts without a change in common: {_counted(self.needless)}",
            f"{len(self.violations)} violations",
        ]
        return "\n".join(lines)


def soak(
    spark: SparkSession, home: Path, plan: Plan, report: Report, tell: Callable[[str], None]
) -> None:
    """Work, check and measure.

    Args:
        spark: session of this process, over the warehouse and metastore in ``home``.
        home: directory of both.
        plan: size of the run.
        report: gets what is found, as it is found.
        tell: gets a line for each round and each violation.
    """
    for table in TABLES:
        _create(spark, table)
    with ExitStack() as running:
        running.enter_context(recorder.recording(warehouse_of(home)))
        own = Workers("main", spark, home / METASTORE, TABLES, plan.roles)
        running.callback(own.stop)
        others = []
        for number, roles in enumerate(plan.processes, start=1):
            others.append(Process(home, f"process{number}", TABLES, roles))
            running.callback(others[-1].stop)
        run = _Run(spark=spark, home=home, plan=plan, report=report, own=own, others=others)
        with run.sampled():
            run.work(tell)
    report.violations += resources.growing(report.samples)


@dataclass(slots=True, kw_only=True)
class _Run:
    """Run at work."""

    spark: SparkSession
    home: Path
    plan: Plan
    report: Report
    own: Workers
    others: Sequence[Process]
    started: float = field(default_factory=time.monotonic)

    def work(self, tell: Callable[[str], None]) -> None:
        """Work round by round."""
        state = self._state({table.name: {} for table in TABLES})
        count = 0
        until = self.started + self.plan.seconds
        is_over = False
        while not is_over:
            verdict = self._round(count, state)
            count += 1
            state = verdict.after
            found = [str(violation) for violation in verdict.violations]
            is_over = time.monotonic() > until
            if is_over or count % self.plan.rounds == 0:
                found += self._rest(state)
                state = self._renew(state)
            if found:
                # Go on from what is there, so that one violation is not reported as many.
                state = self._state(self._final().readings[0].rows)
            self.report.violations += found
            for text in found[:20]:
                tell(f"VIOLATION in round {count} of --seed {self.plan.seed}: {text}")
            done = sum(self.report.statements.values())
            tell(
                f"{time.monotonic() - self.started:.0f} s: {done} statements, "
                f"{self.report.commits} commits, "
                f"{self.report.failures['CONCURRENT_WRITE']} conflicts, "
                f"{self.report.readings} queries, {len(self.report.violations)} violations"
            )

    def _round(self, number: int, state: State) -> Verdict:
        seed = self.plan.seed * 1_000_000 + number
        started = time.monotonic()
        clients: list[Workers | Process] = [self.own, *self.others]
        with ThreadPoolExecutor(len(clients)) as pool:
            asked = [pool.submit(c.work, seed, self.plan.round_seconds) for c in clients]
            parts = [future.result() for future in asked]
        self.report.seconds += time.monotonic() - started
        parts.append(self._final())
        statements = tuple(s for part in parts for s in part.statements)
        readings = tuple(r for part in parts for r in part.readings)
        commits = recorder.commits_after(self.home / METASTORE, state.number)
        history = History(commits=commits, statements=statements, readings=readings)
        verdict = check(history, state, unit=self.plan.unit, failures=FAILURES)
        report = self.report
        report.statements += Counter(type(s.change).__name__ for s in statements)
        report.failures += Counter(s.failure for s in statements if s.failure is not None)
        report.needless += Counter(type(s.change).__name__ for s in verdict.needless)
        report.commits += len(commits)
        began = {s.txn_id: s.began for s in statements}
        report.overlapping += sum(c.number > began.get(c.txn_id, 0) + 1 for c in commits)
        report.readings += len(readings)
        return verdict

    def _final(self) -> Records:
        """Read all tables while no thread works."""
        records = Records()
        evaluated(self.own.query("end of the round", TABLES), records)
        return records

    def _rest(self, state: State) -> Iterator[str]:
        """Let go of everything, compact and clean; return what is wrong then."""
        rests = {"main": self.own.rest()}
        rests |= {f"process{n}": other.rest() for n, other in enumerate(self.others, start=1)}
        for table in TABLES:
            acidsql.sql(self.spark, f"ALTER TABLE {table.name} COMPACT 'major'")
        acidsql.run_cleaner(self.spark)
        reading = self._final().readings[0]
        if reading.rows != state.tables:
            yield f"compaction has changed rows: {reading.rows} instead of {state.tables}"
        rests["main"] = self.own.rest()
        sample = self._sample(rests)
        self.report.samples.append(sample)
        yield from resources.leftovers(sample.values, _PLACES)

    def _renew(self, state: State) -> State:
        """Drop tables with a long history, and create them again."""
        metastore = AcidSession.of(self.spark).metastore
        rows = dict(state.tables)
        for table in TABLES:
            if metastore.next_write_id("default", table.name) > _MOST_WRITE_IDS:
                acidsql.sql(self.spark, f"DROP TABLE {table.name}")
                _create(self.spark, table)
                rows[table.name] = {}
        return self._state(rows)

    def _state(self, rows: Mapping[str, Rows]) -> State:
        metastore = AcidSession.of(self.spark).metastore
        return State(
            number=recorder.last_commit(self.home / METASTORE),
            tables=rows,
            highest={t.name: metastore.next_write_id("default", t.name) - 1 for t in TABLES},
        )

    @contextmanager
    def sampled(self) -> Iterator[None]:
        """Take a sample every few seconds while the block runs."""
        stopped = threading.Event()

        def take() -> None:
            while not stopped.wait(5):
                # Files and processes come and go while they are counted.
                with suppress(OSError, psutil.Error):
                    self.report.samples.append(self._sample({}))

        thread = threading.Thread(target=take, name="samples")
        thread.start()
        try:
            yield
        finally:
            stopped.set()
            thread.join()

    def _sample(self, rests: dict[str, Rest]) -> Sample:
        pids = {"main": os.getpid()}
        pids |= {f"process{n}": other.pid for n, other in enumerate(self.others, start=1)}
        values = resources.of_processes(pids)
        values |= resources.of_metastore(self.home / METASTORE)
        values |= resources.of_tables(warehouse_of(self.home).entries())
        for name, rest in rests.items():
            values |= {
                f"JVM references of {name}": rest.references,
                f"heap of {name}": rest.heap / MIB,
                f"sessions of {name}": rest.sessions,
            }
        return Sample(seconds=time.monotonic() - self.started, at_rest=bool(rests), values=values)


def _create(spark: SparkSession, table: Table) -> None:
    for text in table.ddl():
        acidsql.sql(spark, text)


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{name} {number}" for name, number in counts.most_common()) or "none"
