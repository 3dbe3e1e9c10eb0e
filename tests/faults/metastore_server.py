"""Faults of a Hive Metastore: its connection breaks, it is killed, or its client is lost, at any
call of any kind of statement.

A proxy before the real server counts calls. What a statement does without a fault is learned by
running it once.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from enum import Enum
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.errors import AcidSqlError, ConcurrencyError, MetastoreError, TransactionStateError
from acidsql.session.acid_session import AcidSession
from tests.faults.campaign import Family, Fault, Options
from tests.faults.server_proxy import CallProxy, Cut, counted
from tests.faults.server_site import (
    Lesson,
    Site,
    State,
    directories,
    end_transactions,
    fault_session,
    leftovers,
    rows,
    site_of,
    state,
)
from tests.faults.server_statements import KINDS, Kind
from tests.metastore.server.launcher import VERSIONS, MetastoreServer

NAME = "metastore-server"
# Errors that say what happened.
CLEAR = (MetastoreError, TransactionStateError, ConcurrencyError)
_DEATH_SECONDS = 600


class Blow(Enum):
    """What happens at the call.

    DROP: the connection breaks. KILL: the server is killed, and started again on its database.
    LOSS: the client reaches the server no more, until its transactions have timed out. DEATH: the
    client's process is killed.
    """

    DROP = "drop"
    KILL = "kill"
    LOSS = "loss"
    DEATH = "death"


# Parts of what happens; a server and a client that were killed take seconds to start again.
_PARTS = {Blow.DROP: 60, Blow.LOSS: 30, Blow.KILL: 5, Blow.DEATH: 5}


class ViolationError(Exception):
    """Something was lost, doubled, half done or stuck."""


def run(options: Options) -> Iterator[Fault]:
    """Strike ``count`` times; seeds in a row go through versions, statements and their calls."""
    with ExitStack() as stack:
        spark = stack.enter_context(fault_session(options.home))
        sites: dict[str, Site] = {}
        for seed in range(options.seed, options.seed + options.count):
            turn, version = divmod(seed, len(VERSIONS))
            turn, kind = divmod(turn, len(KINDS))
            at = VERSIONS[version]
            if at not in sites:
                sites[at] = stack.enter_context(site_of(spark, at, options.home))
            # Neighbours begin at other calls.
            yield strike(sites[at], list(KINDS)[kind], turn + 5 * kind + 3 * version, seed)


def strike(site: Site, name: str, turn: int, seed: int) -> Fault:
    """Run a statement with one fault, and look what became of it.

    Args:
        turn: number of the call, and of what happens there; all of them come in turn.
        seed: of the fault.
    """
    kind, lesson = KINDS[name], site.lesson(name)
    turn, cut = divmod(turn, len(Cut))
    number = len(lesson.calls) - 1 - turn % len(lesson.calls)
    (blow,) = random.Random(seed).choices(list(_PARTS), list(_PARTS.values()))
    violation = None
    with counted(site.server.port) as proxy:
        try:
            struck = _strike(site, proxy, kind, lesson, blow, number, tuple(Cut)[cut])
        except ViolationError as found:
            violation, struck = str(found), lesson.calls[number]
    step = f"{blow.value} {tuple(Cut)[cut].value} {struck}" if struck else "none"
    return Fault(
        family=NAME,
        step=step,
        statement=f"{name} {site.server.version[:3]}",
        seed=seed,
        struck=bool(struck),
        violation=violation,
    )


def _strike(
    site: Site,
    proxy: CallProxy,
    kind: Kind,
    lesson: Lesson,
    blow: Blow,
    number: int,
    cut: Cut,
) -> str:
    """Strike; return the name of the call that was struck, '' if none was."""
    database, files = site.prepare(kind)
    looker, before = site.looker, lesson.before
    try:
        placed, _ = directories(looker)
        statement = kind.statement.format(files=files)
        if blow is Blow.DEATH:
            struck, error = _die(site.server.uri, database, number, cut, statement)
            end_transactions(site.server)
            found = _judged(looker, kind, lesson, before, state(looker, kind, files), error, blow)
            _go_on(looker, kind, lesson, found, before, str(files))
            return struck
        client = site.client(proxy.uri, database)
        back = threading.Event()
        then: dict[Blow, Callable[[], object]] = {
            Blow.DROP: lambda: None,
            Blow.KILL: partial(kill, site.server, proxy, back),
            Blow.LOSS: proxy.close,
        }
        proxy.arm(number, cut, then[blow])
        error = _attempt(client, statement, lesson)
        if blow is Blow.KILL and proxy.struck:
            back.wait()
        AcidSession.of(client).close()
        if blow is not Blow.DROP:
            end_transactions(site.server)
        found = _judged(looker, kind, lesson, before, state(looker, kind, files), error, blow)
        if blow is Blow.DROP:
            lost = cut is Cut.ANSWER and proxy.struck == "open_txns"
            # A compaction that ends well leaves its result, and changes nothing that users see.
            undone = placed if error is not None and found == before else None
            _check_leftovers(looker, undone, error, lost=lost)
        _go_on(looker, kind, lesson, found, before, str(files))
        return proxy.struck
    finally:
        end_transactions(site.server)
        place = AcidSession.of(looker).metastore.database_location(database)
        shutil.rmtree(place.removeprefix("file:"), ignore_errors=True)


def _attempt(client: SparkSession, statement: str, lesson: Lesson) -> Exception | None:
    """Run the statement; return its error. Without one its result must be right."""
    try:
        result = rows(client, statement)
    except Exception as error:  # noqa: BLE001 - which one it may be is judged later
        return error
    if result != lesson.rows and "COMPACT" not in statement:
        raise ViolationError(f"the result is {result}, not {lesson.rows}")
    return None


def _die(
    uri: str, database: str, number: int, cut: Cut, statement: str
) -> tuple[str, Exception | None]:
    """Run a client that is killed at a call; return the call, and an error if it was killed."""
    program = [sys.executable, "-m", "tests.faults.dying_client"]
    done = subprocess.run(
        [*program, uri, database, str(number), cut.value, statement],
        capture_output=True,
        timeout=_DEATH_SECONDS,
        check=False,
    )
    if done.returncode == -signal.SIGKILL:
        return done.stdout.decode().strip(), MetastoreError("KILLED", "the client was killed")
    if done.returncode != 0:
        raise ViolationError(done.stderr.decode(errors="replace")[-2000:])
    return "", None


def _judged(
    looker: SparkSession,
    kind: Kind,
    lesson: Lesson,
    before: State,
    now: State,
    error: Exception | None,
    blow: Blow,
) -> State:
    """Check that users see what the statement's end allows; return it."""
    if error is not None and not isinstance(error, CLEAR):
        raise ViolationError(f"not a clear error: {error!r}")
    unknown = isinstance(error, AcidSqlError) and error.getCondition() == "COMMIT_OUTCOME_UNKNOWN"
    allowed = [lesson.after] if error is None else [before]
    if error is not None and (unknown or blow in (Blow.LOSS, Blow.DEATH) or kind.stands):
        allowed.append(lesson.after)
    if now in allowed:
        return now
    if error is not None and blow is not Blow.DROP and kind.half and _is_half(now, kind):
        rows(looker, kind.half_is_ended_by)
        return before
    raise ViolationError(f"after {error!r} there is {now}, and none of {allowed}")


def _is_half(now: State, kind: Kind) -> bool:
    """Return whether there is the table that is visible while it is filled, without rows."""
    return kind.half in now.tables and not now.tables[kind.half][2]


def _check_leftovers(
    looker: SparkSession, placed: set[str] | None, error: Exception | None, *, lost: bool
) -> None:
    """Check that a statement which has ended left no lock, transaction or file behind.

    Args:
        looker: another client.
        placed: the directories before, if there must not be others now.
        error: with which it ended.
        lost: whether a transaction was opened without an answer to the client.
    """
    still_open, locks = leftovers(looker)
    if locks or len(still_open) > lost:
        raise ViolationError(f"after {error!r} are left: transactions {still_open}, locks {locks}")
    found, staged = directories(looker)
    if staged or (placed is not None and found != placed):
        raise ViolationError(f"after {error!r} are left: {staged or found - (placed or set())}")


def _go_on(
    looker: SparkSession, kind: Kind, lesson: Lesson, found: State, before: State, files: str
) -> None:
    """Check that the statement works afterwards if it had no effect, and that the next one does."""
    if found == before != lesson.after:
        again = (kind.again or kind.statement).format(files=files)
        _must_work(looker, again)
        now = state(looker, kind, Path(files))
        if now != lesson.after:
            raise ViolationError(f"{again} gives {now} afterwards, not {lesson.after}")
    _must_work(looker, kind.follow)


def _must_work(looker: SparkSession, statement: str) -> None:
    try:
        rows(looker, statement)
    except Exception as error:
        raise ViolationError(f"{statement} fails afterwards: {error!r}") from error


def kill(server: MetastoreServer, proxy: CallProxy, back: threading.Event) -> None:
    """Kill a server, and start it again; no client reaches it until the event is set."""

    def start() -> None:
        server.start()
        proxy.listen()
        back.set()

    server.stop()
    proxy.close()
    threading.Thread(target=start).start()


FAMILY = Family(
    name=NAME,
    summary="a Hive Metastore of 3.1, 4.0 or 4.1 is killed, or its connection breaks, at any call",
    run=run,
    needed={},
    is_local=False,
)
