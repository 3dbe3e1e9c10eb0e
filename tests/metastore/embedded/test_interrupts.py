"""Ctrl-C at any moment of a call of the embedded metastore."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from acidsql.deferred_signals import DeferredSignals
from acidsql.metastore.embedded.store import EmbeddedMetastore

PROGRAM = Path(__file__).with_name("interrupted_program.py")


class Interrupted(sqlite3.Connection):
    """Connection at whose statement ``at`` Ctrl-C is pressed: just before it, or just after."""

    at = ""
    after = False

    def execute(self, sql: str, *arguments: Any) -> sqlite3.Cursor:
        interrupted = sql == Interrupted.at
        if interrupted and not self.after:
            signal.raise_signal(signal.SIGINT)
        cursor = super().execute(sql, *arguments)
        if interrupted and self.after:
            signal.raise_signal(signal.SIGINT)
        return cursor


@pytest.fixture
def connect(monkeypatch: pytest.MonkeyPatch) -> Callable[..., sqlite3.Connection]:
    """Have connections interrupted; return the function that makes others."""
    original = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", partial(original, factory=Interrupted))
    monkeypatch.setattr(Interrupted, "at", "")
    return original


@pytest.mark.parametrize("after", [False, True])
@pytest.mark.parametrize("statement", ["BEGIN IMMEDIATE", "COMMIT"])
def test_an_interrupt_leaves_nothing_locked(
    path: str,
    connect: Callable[..., sqlite3.Connection],
    monkeypatch: pytest.MonkeyPatch,
    statement: str,
    after: bool,
) -> None:
    store = EmbeddedMetastore(path)
    monkeypatch.setattr(Interrupted, "at", statement)
    monkeypatch.setattr(Interrupted, "after", after)
    with pytest.raises(KeyboardInterrupt) as raised:
        store.open_txn("ann", "host")
    monkeypatch.setattr(Interrupted, "at", "")
    # As long as the error and its frames are kept, as a notebook does.
    other = connect(path, timeout=0, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")
    other.close()
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(store.heartbeat, [1]).result(timeout=30) == ()
    assert store.open_txn("ann", "host") == 2  # what was interrupted is done, and whole
    assert raised.value.__context__ is None
    store.close()


def test_an_open_transaction_is_rolled_back_by_the_next(store: EmbeddedMetastore) -> None:
    with store.database.read() as connection:
        kept = connection
    kept.execute("BEGIN IMMEDIATE")
    kept.execute("UPDATE tables SET next_write_id = 1000")
    assert store.next_write_id("db", "t") == 1


def test_signals_wait_for_the_end_and_handlers_come_back() -> None:
    calls: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: calls.append(number))
    try:
        ours = signal.getsignal(signal.SIGUSR1)
        with DeferredSignals(), DeferredSignals():
            signal.raise_signal(signal.SIGUSR1)
            signal.raise_signal(signal.SIGUSR1)
            assert calls == []
        assert calls == [signal.SIGUSR1]
        assert signal.getsignal(signal.SIGUSR1) is ours
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_signals_without_a_handler_are_left_alone() -> None:
    before = signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    try:
        with DeferredSignals():
            assert signal.getsignal(signal.SIGUSR1) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_all_handlers_come_back_if_one_raises_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    def leave(*_: object) -> None:
        raise SystemExit

    before = signal.signal(signal.SIGUSR1, leave)
    interrupt = signal.getsignal(signal.SIGINT)
    put = signal.signal
    sent: list[int] = []

    def put_and_send(number: int, handler: signal._HANDLER) -> signal._HANDLER:
        old = put(number, handler)
        if handler is interrupt and not sent:
            sent.append(number)
            signal.raise_signal(signal.SIGINT)
        return old

    try:
        monkeypatch.setattr(signal, "signal", put_and_send)
        with pytest.raises(KeyboardInterrupt), DeferredSignals():
            pass
        assert signal.getsignal(signal.SIGINT) is interrupt
        assert signal.getsignal(signal.SIGUSR1) is leave
    finally:
        put(signal.SIGUSR1, before)


@pytest.mark.parametrize("count", [300, pytest.param(4000, marks=pytest.mark.repeated)])
def test_many_interrupts_lock_nobody_out(path: str, count: int) -> None:
    EmbeddedMetastore(path).close()
    done = subprocess.run(
        [sys.executable, str(PROGRAM), path, str(count)],
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{count} interrupts\n", "")
