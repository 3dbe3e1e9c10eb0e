"""Kills: statements of every kind are killed at every named step and at random moments.

The next process must find each table as before or as after the statement, and go on without help.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import Empty, Queue
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import acidsql
from acidsql import limits
from acidsql.session.acid_session import AcidSession
from tests.faults.campaign import Family, Fault, Options
from tests.faults.kill_model import Case, State, next_insert, states
from tests.faults.kill_plan import COUNTED, Plan, cases, cells, plan
from tests.faults.kill_steps import ANY, LOCAL, RANDOM
from tests.faults.kill_worker import JVM, PYTHON, SPARK, Shot, execute
from tests.faults.kill_world import Site, World, fill

# A JVM is replaced after this number of shots: what dead processes held there is never freed.
_SHOTS_OF_A_JVM = 150
_PATIENCE = 240.0
HANGS = 1000


class Workers:
    """The warm process that forks a worker for each shot."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.kill_worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._listen, daemon=True).start()
        line = self._lines.get(timeout=_PATIENCE)
        assert line == "ready", line

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put("the workers have ended")

    def run(self, shot: Shot, delay: float | None = None) -> int:
        """Run a shot; kill it some seconds after its statement began, if ``delay`` is given.

        Returns:
            The exit code, negative for a signal; ``HANGS`` if it had to be ended.
        """
        assert self._process.stdin is not None
        self._process.stdin.write(shot.line())
        self._process.stdin.flush()
        pid, hangs = 0, False
        while True:
            try:
                word, _, number = self._lines.get(timeout=_PATIENCE).partition(" ")
            except Empty:
                if hangs or not pid:
                    raise AssertionError("a worker does not begin, or cannot be killed") from None
                hangs = True
                os.kill(pid, signal.SIGKILL)
                continue
            if word == "begins":
                pid = int(number)
                if delay is not None:
                    time.sleep(delay)
                    _kill(shot, pid)
            elif word == "ended":
                return HANGS if hangs else int(number)
            else:
                raise AssertionError(f"{word} {number}")

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

    def __init__(self, home: Path, workers: Workers, site: Site | None = None) -> None:
        self._home = home
        self._workers = workers
        self._site = site or Site()
        self._spark: SparkSession | None = None
        self._shots_of_jvm = 0
        self._durations: dict[str, float] = {}
        self._world = self._site.world(home / "world")
        fill(self.spark, self._world)

    @property
    def spark(self) -> SparkSession:
        """Session of a JVM that is not too old."""
        if self._spark is None or self._shots_of_jvm >= _SHOTS_OF_A_JVM:
            self.close()
            builder = SparkSession.builder.config(map=SPARK | dict(self._site.settings))
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
            settings=self._site.settings,
            least_part=self._site.least_part,
        )

    def whole(self, case: Case) -> tuple[dict[str, int], float]:
        """Run a statement to its end, and check what it does.

        Returns:
            How often it reached each step, and how long it took.
        """
        made = Plan(
            case=case, step=RANDOM, occurrence=0, moment=1.0, kills=PYTHON, own_jvm=False,
            number=COUNTED, cleans_first=False,
        )  # fmt: skip
        world = self._world.copy(self._home / "whole")
        try:
            status = self._workers.run(self.shot(world, made, None))
            log = (world.root / "log").read_text()
            assert status == 0, f"{case.name} failed: {log}"
            found, expected = world.state(), states(case, COUNTED)[1]
            assert found == expected, f"{case.name}: {difference(found, expected)}"
            read = json.loads((world.root / "result").read_text())
        finally:
            world.delete()
            if "DATABASE" in case.kind:
                self._forget_databases()
        self._shots_of_jvm += 1
        return read["steps"], read["took"]

    def fault(self, seed: int) -> Fault:
        """Do a shot, and look at what it leaves."""
        made = plan(seed, self._site.filesystem)
        fault = Fault(family=self._site.family, step=made.step, statement=made.case.kind, seed=seed)
        delay = None
        if made.step == RANDOM:
            if made.case.name not in self._durations:
                self._durations[made.case.name] = self.whole(made.case)[1]
            # It takes longer without a warm JVM, and less time than when it ran first.
            delay = made.moment * self._durations[made.case.name] * (4 if made.own_jvm else 0.8)
        world = self._world.copy(self._home / f"shot_{seed}")
        step = None if made.step == RANDOM else made.step
        status = self._workers.run(self.shot(world, made, step), delay)
        self._shots_of_jvm += 1
        struck = status == -signal.SIGKILL or _jvm_was_killed(world)
        try:
            self._check(made, world, struck, status)
        except Exception as error:  # noqa: BLE001 - whatever is raised is a violation
            log = (world.root / "log").read_text() if (world.root / "log").exists() else ""
            text = f"{made}: {type(error).__name__}: {error}"
            (world.root / "violation").write_text(f"{text}\n{log}")
            return replace(fault, struck=struck, violation=text)
        finally:
            if "DATABASE" in made.case.kind:
                self._forget_databases()
        world.delete()
        return replace(fault, struck=struck)

    def _check(self, made: Plan, world: World, struck: bool, status: int) -> None:
        case = made.case
        before, after = states(case, made.number)
        if status == HANGS:
            raise AssertionError("the statement hangs")
        if not struck and status != 0:
            raise AssertionError(f"the statement failed: {(world.root / 'log').read_text()}")
        found = world.state()
        # A statement that has answered has happened, even if the JVM was killed meanwhile.
        if found != after and (status == 0 or found != before):
            raise AssertionError(
                f"neither before nor after; {difference(found, after)} "
                f"(before: {difference(found, before)})"
            )
        session = self.spark.newSession()
        session.conf.set("spark.acidsql.metastore", str(world.metastore))
        session.conf.set("spark.acidsql.synchronous", "off")
        # No process waits for the locks of a dead one.
        session.conf.set("spark.acidsql.lock.timeout", "0")
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
        touched = {case.target, case.target_after, *case.others}
        if more:
            touched.add(case.target_after or "w.src")
        if made.cleans_first:
            self._compact(session, world, found, touched)
            _require(world.state(), found, "after compaction")
        execute(session, text)
        _require(world.state(), expected, "after " + text)
        self._compact(session, world, expected, touched)
        _require(world.state(), expected, "after " + text + " and compaction")

    def _compact(
        self, session: SparkSession, world: World, state: State, touched: set[str | None]
    ) -> None:
        self._wait_for_the_dead(world)
        acidsql.release(session)
        for name in state.tables:
            if name in touched:
                acidsql.sql(session, f"ALTER TABLE {name} COMPACT 'major'")
        acidsql.run_cleaner(session)

    def _wait_for_the_dead(self, world: World) -> None:
        """Wait until no JVM works for a process that is dead."""
        tracker = self.spark.sparkContext.statusTracker()
        deadline = time.monotonic() + _PATIENCE
        while tracker.getActiveJobsIds() or _is_running(world.root / "jvm"):
            assert time.monotonic() < deadline, "the JVM of a dead process works on"
            time.sleep(0.02)

    def _forget_databases(self) -> None:
        """Have Spark's own catalog forget the databases, as that of a new process would."""
        for name in ("d", "w"):
            if self.spark.catalog.databaseExists(f"spark_catalog.{name}"):
                nowhere = self._home / "nowhere" / name
                self.spark.sql(f"ALTER DATABASE spark_catalog.{name} SET LOCATION '{nowhere}'")
                self.spark.sql(f"DROP DATABASE spark_catalog.{name} CASCADE")


def _is_running(pid: Path) -> bool:
    """Return whether the process runs whose id is in a file, if there is one."""
    try:
        return (
            Path(f"/proc/{pid.read_text()}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
        )
    except FileNotFoundError:
        return False


def _jvm_was_killed(world: World) -> bool:
    result = world.root / "result"
    return result.exists() and result.read_text() == "struck"


def _text(case: Case, number: int, world: World) -> str:
    return case.text.format(n=number, land=world.location("land"))


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
def campaign(home: Path, site: Site | None = None) -> Iterator[Campaign]:
    """Open a campaign in an empty directory.

    Args:
        site: where its tables are; by default on the local disk.
    """
    workers = Workers()
    # Nothing is read for longer than its statement runs.
    kept, limits._LIMITS = limits._LIMITS, replace(limits.limits(), collection_pauses=())
    try:
        made = Campaign(home, workers, site)
        try:
            yield made
        finally:
            made.close()
    finally:
        limits._LIMITS = kept
        workers.close()


def count_steps(home: Path, site: Site | None = None) -> dict[str, dict[str, int]]:
    """Run each statement to its end, and return how often it reaches each step."""
    counted = {}
    with campaign(home, site) as opened:
        for case in cases(site.filesystem if site else LOCAL):
            counted[case.name] = steps = dict(opened.whole(case)[0])
            if site is not None and site.filesystem != LOCAL:
                counted[case.name] = {ANY: sum(steps.values())}
            print(case.name, sum(steps.values()), flush=True)
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
