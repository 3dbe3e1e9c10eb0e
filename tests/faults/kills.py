"""Kills: statements of every kind are killed at every named step and at random moments.

The next process must find each table as before or as after the statement, and go on without help.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

from pyspark.sql import SparkSession

import acidsql
from acidsql import limits
from acidsql.session.acid_session import AcidSession
from tests.faults.campaign import Family, Fault, Options
from tests.faults.kill_cases import CASES, Case, State, next_insert, states
from tests.faults.kill_steps import COMMITS_AND_RENAMES, RANDOM, recorded
from tests.faults.kill_worker import BOTH, JVM, PYTHON, SPARK, Shot, execute
from tests.faults.kill_world import World, make_world

HITS = 5
# A JVM is replaced after this number of shots: what dead processes held there is never freed.
_SHOTS_OF_A_JVM = 150
# One of this number of shots has a JVM of its own, which is killed too.
_OWN_JVM = 10
_PATIENCE = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Plan of a shot, made of its seed alone.

    Attributes:
        case: the statement.
        step: at which it is killed.
        occurrence: of the step.
        moment: part of the statement's time after which it is killed, if the step is ``RANDOM``.
        kills: what is killed.
        own_jvm: whether the worker has a JVM of its own.
        number: in the texts.
        cleans_first: whether the next process compacts and cleans before it writes.
    """

    case: Case
    step: str
    occurrence: int
    moment: float
    kills: str
    own_jvm: bool
    number: int
    cleans_first: bool

    def __str__(self) -> str:
        where = f"{self.step} {self.occurrence}" if self.step != RANDOM else f"{self.moment:.0%}"
        own = " with its JVM" if self.own_jvm else ""
        return f"{self.case.name}: {self.kills} killed{own} at {where}"


def cells() -> dict[tuple[str, str], int]:
    """Return the cells (step, kind of statement) that can occur, each with the hits it needs."""
    kinds = {case.name: case.kind for case in CASES}
    steps = recorded()
    found = {(step, kinds[name]) for name in steps if name in kinds for step in steps[name]}
    return dict.fromkeys(sorted(found | {(RANDOM, kind) for kind in kinds.values()}), HITS)


@cache
def _slots() -> tuple[tuple[str, str], ...]:
    """Return the cells in an order of which each part is a sample.

    Those around commits and renames are repeated until they are half of all.
    """
    near = [cell for cell in cells() if cell[0] in COMMITS_AND_RENAMES]
    far = [cell for cell in cells() if cell[0] not in COMMITS_AND_RENAMES]
    repeated = [near[i % len(near)] for i in range(max(len(near), len(far)))] if near else []
    slots = [*far, *repeated]
    Random(0).shuffle(slots)
    return tuple(slots)


def plan(seed: int) -> Plan:
    """Return the plan of a seed: as many seeds in a row as there are slots hit each cell once."""
    step, kind = _slots()[seed % len(_slots())]
    random = Random(seed)
    steps = recorded()
    able = [
        case
        for case in CASES
        if case.kind == kind and (step == RANDOM or step in steps.get(case.name, {}))
    ]
    case = random.choice(able)
    own_jvm = random.randrange(_OWN_JVM) == 0
    return Plan(
        case=case,
        step=step,
        occurrence=random.randint(1, steps[case.name][step]) if step != RANDOM else 0,
        moment=random.random(),
        kills=random.choice((PYTHON, JVM, BOTH)) if own_jvm else PYTHON,
        own_jvm=own_jvm,
        number=random.randrange(100, 1000),
        cleans_first=random.random() < 0.5,
    )


class Workers:
    """The warm process that forks a worker for each shot."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kill_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._expect("ready")

    def _expect(self, word: str) -> str:
        assert self._process.stdout is not None
        line = self._process.stdout.readline().split()
        assert line and line[0] == word, f"{word} was expected, not {line}"
        return line[-1]

    def run(self, shot: Shot, delay: float | None = None) -> int:
        """Run a shot; kill it some seconds after its statement began, if ``delay`` is given.

        Returns:
            The exit code, negative for a signal.
        """
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(shot.line())
        self._process.stdin.flush()
        group = None
        while True:
            word, _, number = self._process.stdout.readline().partition(" ")
            if word == "begins":
                group = int(number)
                if delay is not None:
                    time.sleep(delay)
                    _kill(shot, group)
            elif word == "ended":
                return int(number)
            else:
                raise AssertionError(f"the workers have ended: {word}")

    def close(self) -> None:
        """End the warm process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def _kill(shot: Shot, pid: int) -> None:
    victims = [pid] if shot.kills != JVM else []
    if shot.kills != PYTHON:
        victims.insert(0, int(Path(shot.jvm_pid).read_text()))
    for victim in victims:
        try:
            os.kill(victim, signal.SIGKILL)
        except ProcessLookupError:
            return
    if shot.kills != PYTHON:
        Path(shot.result).write_text("struck")


class Campaign:
    """Campaign in a directory: the world, a JVM, the workers."""

    def __init__(self, home: Path, workers: Workers) -> None:
        self._home = home
        self._workers = workers
        self._spark: SparkSession | None = None
        self._shots_of_jvm = 0
        self._durations: dict[str, float] = {}
        self._world = make_world(self.spark, home / "world")

    @property
    def spark(self) -> SparkSession:
        """Session of a JVM that is not too old."""
        if self._spark is None or self._shots_of_jvm >= _SHOTS_OF_A_JVM:
            self.close()
            builder = SparkSession.builder.config(map=SPARK)
            place = self._home / "spark-warehouse"
            self._spark = builder.config("spark.sql.warehouse.dir", str(place)).getOrCreate()
            self._spark.sparkContext.setLogLevel("OFF")
            self._shots_of_jvm = 0
        return self._spark

    def close(self) -> None:
        """Stop the JVM."""
        if self._spark is not None:
            gateway: Any = self._spark.sparkContext._gateway
            self._spark.stop()
            gateway.shutdown()
            gateway.proc.stdin.close()
            gateway.proc.wait()
            from pyspark import SparkContext  # noqa: PLC0415

            SparkContext._gateway = SparkContext._jvm = None
            self._spark = None

    def shot(self, world: World, made: Plan, step: str | None) -> Shot:
        """Return what the worker does, killed at ``step``."""
        case = made.case
        parameters = self.spark.sparkContext._gateway.gateway_parameters
        own = made.own_jvm
        return Shot(
            metastore=str(world.metastore),
            warehouse=str(world.root / "spark-warehouse"),
            text=_text(case, made.number, world),
            before=case.before,
            by_jobs=case.by_jobs,
            kills=made.kills,
            step=step,
            number=made.occurrence,
            gateway=None if own else (parameters.port, parameters.auth_token),
            log=str(world.root / "log"),
            result=str(world.root / "result"),
            jvm_pid=str(world.root / "jvm"),
        )

    def whole(self, case: Case) -> tuple[dict[str, int], float]:
        """Run a statement to its end, and check what it does.

        Returns:
            How often it reached each step, and how long it took.
        """
        made = Plan(
            case=case, step=RANDOM, occurrence=0, moment=1.0, kills=PYTHON, own_jvm=False,
            number=500, cleans_first=False,
        )  # fmt: skip
        world = self._world.copy(self._home / "whole")
        try:
            status = self._workers.run(self.shot(world, made, None))
            log = (world.root / "log").read_text()
            assert status == 0, f"{case.name} failed: {log}"
            found, expected = world.state(), states(case, 500)[1]
            assert found == expected, f"{case.name}: {difference(found, expected)}"
            read = json.loads((world.root / "result").read_text())
        finally:
            shutil.rmtree(world.root)
            self._forget_databases()
        self._shots_of_jvm += 1
        return read["steps"], read["took"]

    def fault(self, seed: int) -> Fault:
        """Do a shot, and look at what it leaves."""
        made = plan(seed)
        fault = Fault(family="kills", step=made.step, statement=made.case.kind, seed=seed)
        delay = None
        if made.step == RANDOM:
            if made.case.name not in self._durations:
                self._durations[made.case.name] = self.whole(made.case)[1]
            # Without a warm JVM it takes longer.
            delay = made.moment * self._durations[made.case.name] * (4 if made.own_jvm else 1)
        world = self._world.copy(self._home / f"shot_{seed}")
        step = None if made.step == RANDOM else made.step
        status = self._workers.run(self.shot(world, made, step), delay)
        self._shots_of_jvm += 1
        struck = (world.root / "result").exists() and made.kills == JVM or status == -signal.SIGKILL
        if made.kills == JVM and struck:
            struck = (world.root / "result").read_text() == "struck"
        try:
            self._check(made, world, struck, status)
        except Exception as error:  # noqa: BLE001 - whatever is raised is a violation
            log = (world.root / "log").read_text() if (world.root / "log").exists() else ""
            text = f"{made}: {type(error).__name__}: {error}"
            (world.root / "violation").write_text(f"{text}\n{log}")
            return replace(fault, struck=struck, violation=text)
        finally:
            self._forget_databases()
        shutil.rmtree(world.root)
        return replace(fault, struck=struck)

    def _check(self, made: Plan, world: World, struck: bool, status: int) -> None:
        case = made.case
        before, after = states(case, made.number)
        if not struck and status != 0:
            raise AssertionError(f"the statement failed: {(world.root / 'log').read_text()}")
        found = world.state()
        ended = not struck
        if found != after and (ended or found != before):
            raise AssertionError(
                f"neither before nor after; {difference(found, after)} "
                f"(before: {difference(found, before)})"
            )
        # Transactions of dead processes time out.
        with world.opened(clock=1000.0) as store:
            store.reap()
        session = self.spark.newSession()
        session.conf.set("spark.acidsql.metastore", str(world.metastore))
        session.conf.set("spark.acidsql.lock.timeout", "5")
        try:
            self._go_on(session, made, world, found)
        finally:
            AcidSession.of(session).close()
        left = world.left()
        if left:
            raise AssertionError(f"is left: {left}")

    def _go_on(self, session: SparkSession, made: Plan, world: World, found: State) -> None:
        """Run the statement again, or the next one; compact and clean."""
        case = made.case
        before, after = states(case, made.number)
        again = found == before
        more: tuple[str, ...] = ()
        if again:
            text, expected = _text(case, made.number, world), after
        else:
            table = case.target_after or "w.src"
            more = next_insert(table, found.tables[table], made.number + 7)
            text, expected = more[0], states(case, made.number, more)[1]
        if made.cleans_first:
            self._compact(session, found)
            _require(world.state(), found, "after compaction")
        execute(session, text)
        _require(world.state(), expected, "after " + text)
        self._compact(session, expected)
        _require(world.state(), expected, "after " + text + " and compaction")

    def _compact(self, session: SparkSession, state: State) -> None:
        self._wait_for_jobs()
        acidsql.release(session)
        for name, table in state.tables.items():
            if name.startswith("w.") and name != "w.src":
                places = [_partition(p) for p in table.partitions] if "p" in table.columns else [""]
                for place in places:
                    acidsql.sql(session, f"ALTER TABLE {name}{place} COMPACT 'major'")
        acidsql.run_cleaner(session)

    def _wait_for_jobs(self) -> None:
        """Wait until the JVM has done the jobs of processes that are dead."""
        tracker = self.spark.sparkContext.statusTracker()
        deadline = time.monotonic() + _PATIENCE
        while tracker.getActiveJobsIds():
            assert time.monotonic() < deadline, "jobs of a dead process do not end"
            time.sleep(0.02)

    def _forget_databases(self) -> None:
        """Have Spark's own catalog forget the databases, as that of a new process would."""
        for name in ("d", "w"):
            if self.spark.catalog.databaseExists(f"spark_catalog.{name}"):
                nowhere = self._home / "nowhere" / name
                self.spark.sql(f"ALTER DATABASE spark_catalog.{name} SET LOCATION '{nowhere}'")
                self.spark.sql(f"DROP DATABASE spark_catalog.{name} CASCADE")


def _partition(name: str) -> str:
    values = ", ".join(f"{k} = '{v}'" for k, v in (part.split("=") for part in name.split("/")))
    return f" PARTITION ({values})"


def _text(case: Case, number: int, world: World) -> str:
    return case.text.format(n=number, land=world.land)


def _require(found: State, expected: State, when: str) -> None:
    if found != expected:
        raise AssertionError(f"{when}: {difference(found, expected)}")


def difference(found: State, expected: State) -> str:
    """Return how two states differ."""
    parts = []
    if found.databases != expected.databases:
        parts.append(f"databases {found.databases} instead of {expected.databases}")
    if found.landed != expected.landed:
        parts.append(f"files {found.landed} instead of {expected.landed}")
    for name in sorted({*found.tables, *expected.tables}):
        one, other = found.tables.get(name), expected.tables.get(name)
        if one != other:
            parts.append(f"{one and name} {one} instead of {other and name} {other}")
    return "; ".join(parts) or "no difference"


@contextmanager
def campaign(home: Path) -> Iterator[Campaign]:
    """Open a campaign in an empty directory."""
    workers = Workers()
    # Nothing is read for longer than its statement runs.
    kept, limits._LIMITS = limits._LIMITS, replace(limits.limits(), collection_pauses=())
    try:
        made = Campaign(home, workers)
        try:
            yield made
        finally:
            made.close()
    finally:
        limits._LIMITS = kept
        workers.close()


def count_steps(home: Path, cases: Sequence[Case] = CASES) -> dict[str, dict[str, int]]:
    """Run each statement to its end, and return how often it reaches each step."""
    counted = defaultdict(dict)
    with campaign(home) as opened:
        for case in cases:
            counted[case.name] = dict(opened.whole(case)[0])
            print(case.name, sum(counted[case.name].values()), flush=True)
    return counted


def run(options: Options) -> Iterator[Fault]:
    """Do the shots of as many seeds."""
    with campaign(options.home) as opened:
        for seed in range(options.seed, options.seed + options.count):
            yield opened.fault(seed)


FAMILY = Family(
    name="kills",
    summary="SIGKILL of Python, the JVM or both, at every named step and at random moments",
    run=run,
    needed=cells(),
)
