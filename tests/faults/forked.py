"""Statements in forked processes that are killed, interrupted or stopped at one of their steps.

A step is what a process does to the world outside of it: it changes, moves or deletes a file, or it
writes to the metastore. Between steps, faults strike at lines of the product's code.
"""

from __future__ import annotations

import dis
import json
import os
import random
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal, NoReturn
from unittest.mock import patch

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.metastore.embedded.database import Database
from acidsql.session.acid_session import AcidSession
from acidsql.transactions.transaction import Transaction
from tests.metastore.local_files import LocalFiles

Action = Literal["kill", "interrupt", "two interrupts", "pause"]

_PATIENCE = 20.0
_OPERATIONS = (
    *("write", "rename", "move", "link", "copy"),
    *("delete", "delete_if_empty", "make_directory"),
)
_PRODUCT = str(Path(acidsql.__file__).parent)
# Instructions with which no line begins at which Python looks for signals: the end of a with block
# (its lock would stay locked), and the beginning of a handler.
_UNINTERRUPTED = frozenset(
    dis.opmap[name]
    for name in ("LOAD_CONST", "SWAP", "NOP", "POP_TOP", "PUSH_EXC_INFO", "WITH_EXCEPT_START")
    if name in dis.opmap
)
# Methods of the metastore whose names say less than these.
_NAMES = {"enter": "journal entry", "_finish": "journal removal", "begin": "open_txn"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """Fault, and the moment at which it strikes.

    Attributes:
        step: named step, or None.
        occurrence: how many steps of that name are let pass.
        line: number of lines of the product's code that are let pass, if there is no step.
        second: number of lines (after a step) or of steps (after a line) until the second
            interrupt.
        delay: seconds after which the parent sends the signal, if there is neither step nor line.
    """

    action: Action
    step: str | None = None
    occurrence: int = 0
    line: int | None = None
    second: int = 0
    delay: float = 0.0


class Killed(BaseException):
    """The end of a process, where none is forked: it is raised at each further step, too."""


@dataclass(slots=True)
class Watch:
    """Watches the steps and lines of this process, and lets the shot strike.

    Attributes:
        steps: names of the steps so far.
        lines: number of lines so far, if they are counted.
        dies_at: number of the step at which Killed is raised, and nothing is done any more.
    """

    shot: Shot | None = None
    counts_lines: bool = False
    dies_at: int | None = None
    steps: list[str] = field(default_factory=list)
    lines: int = 0
    struck: bool = False
    _second_step: int | None = None
    _second_line: int | None = None

    def step(self, name: str) -> None:
        """Take a step."""
        if self.dies_at is not None and len(self.steps) >= self.dies_at:
            raise Killed(name)
        self.steps.append(name)
        if self._second_step is not None:
            self._second_step -= 1
            if self._second_step < 0:
                self._second_step = None
                signal.raise_signal(signal.SIGINT)
        shot = self.shot
        if shot is None or self.struck or shot.step != name:
            return
        if self.steps.count(name) <= shot.occurrence:
            return
        if shot.action == "two interrupts":
            self._second_line = shot.second
            self._trace(sys._getframe())
        self._strike(shot)

    def _strike(self, shot: Shot) -> None:
        self.struck = True
        if shot.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif shot.action == "pause":
            os.kill(os.getpid(), signal.SIGSTOP)
        else:
            signal.raise_signal(signal.SIGINT)

    def _trace(self, frame: FrameType | None) -> None:
        while frame is not None:
            if frame.f_code.co_filename.startswith(_PRODUCT):
                frame.f_trace = self._line
            frame = frame.f_back
        sys.settrace(self._call)

    def _call(self, frame: FrameType, *_: Any) -> Callable[..., Any] | None:
        return self._line if frame.f_code.co_filename.startswith(_PRODUCT) else None

    def _line(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event != "line":
            return self._line
        self.lines += 1
        shot, second = self.shot, self._second_line
        if second is not None:
            self._second_line = second - 1
        is_second = second is not None and second <= 0
        is_first = not self.struck and shot and shot.line is not None and self.lines > shot.line
        if not (is_first or is_second) or frame.f_code.co_code[frame.f_lasti] in _UNINTERRUPTED:
            return self._line
        if is_second:
            self._second_line = None
            signal.raise_signal(signal.SIGINT)
        elif shot is not None:
            if shot.action == "two interrupts":
                self._second_step = shot.second
            self._strike(shot)
        return self._line

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Watch in the block."""
        names: dict[str, Any] = {name: self._around_file(name) for name in _OPERATIONS}
        with (
            patch.multiple(LocalFiles, **names),
            patch.object(Database, "write", self._around_write(Database.write)),
        ):
            if self.counts_lines or (self.shot and self.shot.line is not None):
                sys.settrace(self._call)
            try:
                yield
            finally:
                sys.settrace(None)

    def _around_file(self, name: str) -> Callable[..., Any]:
        original = getattr(LocalFiles, name)

        def operation(files: LocalFiles, path: str, *arguments: Any) -> Any:
            what = f"{name} {role(path)}"
            if arguments and isinstance(arguments[0], str):
                what += f" to {role(arguments[0])}"
            self.step(f"before {what}")
            answer = original(files, path, *arguments)
            self.step(f"after {what}")
            return answer

        return operation

    def _around_write(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @contextmanager
        def write(database: Database) -> Iterator[Any]:
            # The method of the metastore that writes.
            name = sys._getframe(2).f_code.co_name
            name = _NAMES.get(name, name)
            self.step(f"before {name}")
            with original(database) as connection:
                yield connection
                self.step(f"in {name}")
            self.step(f"after {name}")

        return write


def role(path: str) -> str:
    """Return what kind of file or directory a path names."""
    parts = path.split("/")
    name = parts[-1]
    if any(part.startswith("_acidsql_staging_") for part in parts[:-1]):
        return "staged"
    if "_acidsql_holding_" in path:
        if name.startswith("_acidsql_holding_"):
            return "holding done" if name.endswith("_done") else "holding"
        return "held"
    for prefix, known in _ROLES.items():
        if name.startswith(prefix):
            return known
    return "landed" if parts[-2] == "landing" else "directory"


_ROLES = {
    "_acidsql_staging_": "staging",
    "_acidsql_loaded_": "hidden",
    "_acidsql_owner": "owner",
    "delete_delta_": "delete delta",
    "delta_": "delta",
    "base_": "base",
    "p=": "partition",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a statement ended.

    Attributes:
        struck: whether the fault struck.
        returned: whether the statement returned.
        error: the error that it raised; None if the process was killed.
        is_own: whether that is an error of acidsql.
        statuses: of the transactions that the statement has ended.
        beating: transactions that still get heartbeats.
        wrong: None, unless the process did what it must not.
    """

    struck: bool
    returned: bool = False
    error: str | None = None
    is_own: bool = False
    statuses: tuple[str, ...] = ()
    beating: tuple[int, ...] = ()
    wrong: str | None = None


class Forked:
    """Process that runs a function; it is watched from its parent.

    Args:
        work: runs in the child, with its ``Watch``.
        then: runs in the child once ``go_on`` is called.
    """

    def __init__(
        self,
        shot: Shot,
        work: Callable[[AcidSession], object],
        open_session: Callable[[], Any],
        then: Callable[[AcidSession], object] | None = None,
    ) -> None:
        self.shot = shot
        self._from_child, into_parent = os.pipe()
        from_parent, self._into_child = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self._from_child)
                os.close(self._into_child)
                _run_child(shot, work, open_session, then, from_parent, into_parent)
            finally:
                # Also if an interrupt came last: it must never run its parent's code.
                os._exit(1)
        os.close(into_parent)
        os.close(from_parent)
        self._received = b""
        self._ended = False
        self._is_closed = False

    def started(self) -> None:
        """Wait until the statement begins, and send the signal if the shot has a delay."""
        self._answer()
        if self.shot.delay:
            time.sleep(self.shot.delay)
            number = signal.SIGKILL if self.shot.action == "kill" else signal.SIGINT
            os.kill(self.pid, number)

    def paused(self) -> bool:
        """Wait until the process is stopped or has ended; return whether it is stopped."""
        while True:
            pid, status = os.waitpid(self.pid, os.WUNTRACED | os.WNOHANG)
            if pid:
                self._ended = not os.WIFSTOPPED(status)
                return os.WIFSTOPPED(status)
            if b"\n" in self._received or select.select([self._from_child], [], [], 0.0002)[0]:
                return False

    def wake(self) -> None:
        """Let a stopped process go on."""
        os.kill(self.pid, signal.SIGCONT)

    def ending(self) -> Ending:
        """Wait for the end of the statement."""
        answer = self._answer()
        if answer is None:
            return Ending(struck=True)
        fields: dict[str, Any] = {
            key: tuple(value) if isinstance(value, list) else value for key, value in answer.items()
        }
        return Ending(**fields)

    def go_on(self) -> str | None:
        """Let the process run its next statement; return its error."""
        with suppress(BrokenPipeError):  # the signal came so late
            os.write(self._into_child, b"\n")
        answer = self._answer()
        return None if answer is None else answer.get("wrong") or answer["error"]

    def close(self) -> None:
        """End the process, unless that was done before."""
        if self._is_closed:
            return
        self._is_closed = True
        os.close(self._into_child)
        os.close(self._from_child)
        if not self._ended:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)

    def _answer(self) -> dict[str, Any] | None:
        while b"\n" not in self._received:
            ready, _, _ = select.select([self._from_child], [], [], _PATIENCE)
            if not ready:
                return {"struck": True, "wrong": f"it hangs for {_PATIENCE:g} s"}
            more = os.read(self._from_child, 1 << 16)
            if not more:
                return None
            self._received += more
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer


def _run_child(
    shot: Shot,
    work: Callable[[AcidSession], object],
    open_session: Callable[[], Any],
    then: Callable[[AcidSession], object] | None,
    from_parent: int,
    into_parent: int,
) -> NoReturn:
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with open_session() as session:
            _tell(into_parent, _statement(shot, work, session, lambda: _tell(into_parent, {})))
            if then is not None and os.read(from_parent, 1):
                error = None
                try:
                    then(session)
                except Exception:  # noqa: BLE001 - the parent reports it
                    error = traceback.format_exc()
                _tell(into_parent, {"error": error})
            os.read(from_parent, 1)
    except BaseException:  # noqa: BLE001 - it must not run its parent's code
        _tell(into_parent, {"struck": True, "wrong": traceback.format_exc()})
    finally:
        os._exit(0)


def _statement(
    shot: Shot,
    work: Callable[[AcidSession], object],
    session: AcidSession,
    begin: Callable[[], None],
) -> Mapping[str, Any]:
    watch = Watch(shot)
    ended: list[Transaction] = []
    roll_back = Transaction.roll_back

    def noted(opened: Transaction, error: BaseException | None = None) -> None:
        ended.append(opened)
        roll_back(opened, error)

    ending: dict[str, Any] = {"returned": False}
    by_parent = bool(shot.delay)
    with patch.object(Transaction, "roll_back", noted):
        try:
            try:
                with watch.watching():
                    begin()
                    work(session)
                ending["returned"] = True
            except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the parent judges
                ending["error"] = f"{type(error).__name__}: {error}"
                ending["is_own"] = isinstance(error, AcidSqlError)
            if by_parent:  # the signal may come only now
                signal.signal(signal.SIGINT, signal.SIG_IGN)
        except KeyboardInterrupt:
            pass
    interrupted = str(ending.get("error", "")).startswith("KeyboardInterrupt")
    return {
        **ending,
        "struck": interrupted if by_parent else watch.struck,
        "statuses": [opened.status.value for opened in ended],
        "beating": sorted(session.heartbeater._alive),
    }


def _tell(descriptor: int, answer: Mapping[str, Any]) -> None:
    os.write(descriptor, json.dumps(answer).encode() + b"\n")


def dry_run(work: Callable[[AcidSession], object], session: AcidSession) -> Watch:
    """Run a statement without a fault; return what it did."""
    watch = Watch(counts_lines=True)
    with watch.watching():
        work(session)
    return watch


def random_moment(chance: random.Random, lines: int, seconds: float) -> Shot:
    """Return a kill or interrupt at a random moment of a statement.

    Args:
        lines: lines of the product's code that the statement runs.
        seconds: how long it takes.
    """
    action: Action = chance.choice(("kill", "interrupt", "two interrupts"))
    if chance.random() < 0.2:
        once: Action = "kill" if action == "kill" else "interrupt"
        return Shot(action=once, delay=chance.uniform(1e-6, seconds))
    return Shot(action=action, line=chance.randrange(lines), second=chance.randrange(8))
