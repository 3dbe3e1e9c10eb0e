"""Tests of the turns of statements that have lost a conflict."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from acidsql.transactions import turns
from acidsql.transactions.turns import others_first, turn_on
from tests.limits import set_limits


def session(metastore: str = "m", lock_timeout: float = 60.0) -> Any:
    return SimpleNamespace(settings=SimpleNamespace(metastore=metastore, lock_timeout=lock_timeout))


class Threads:
    """Threads of a test, and what they have done, in its order."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.running: list[threading.Thread] = []

    def start(self, action: Callable[[], None]) -> None:
        """Run something in a thread, and give it time to begin."""
        thread = threading.Thread(target=action)
        thread.start()
        self.running.append(thread)
        time.sleep(0.05)

    def turn(self, name: str, table: str, until: threading.Event | None = None) -> None:
        """Run a statement that has lost, whose commit lets others go first as all do."""
        with turn_on(session(), table, threading.Event()):
            if until is not None:
                until.wait()
            self.commit(name, table)

    def commit(self, name: str, table: str) -> None:
        """Commit."""
        with others_first(session(), [table]):
            self.done.append(name)

    def end(self) -> list[str]:
        """Wait for all threads."""
        for thread in self.running:
            thread.join()
        assert not turns._queues
        assert not turns._passing
        return self.done


def test_losers_go_one_after_the_other_and_before_all_others() -> None:
    threads, may_commit = Threads(), threading.Event()
    threads.start(lambda: threads.turn("one", "d.t", may_commit))
    threads.start(lambda: threads.turn("two", "d.t"))
    threads.start(lambda: threads.commit("other", "d.t"))
    threads.start(lambda: threads.commit("of another table", "d.u"))
    may_commit.set()
    done = threads.end()
    assert done[:2] == ["of another table", "one"]
    assert sorted(done[2:]) == ["other", "two"]


def test_a_turn_does_not_begin_while_another_one_commits() -> None:
    threads, may_end = Threads(), threading.Event()

    def commit() -> None:
        with others_first(session(), ["d.t"]):
            may_end.wait()
            threads.done.append("first")

    threads.start(commit)
    threads.start(lambda: threads.turn("loser", "d.t"))
    may_end.set()
    assert threads.end() == ["first", "loser"]


def test_no_wait_is_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, turn_seconds=0.05, turn_poll_seconds=0.01)
    threads, never, given_up = Threads(), threading.Event(), threading.Event()
    threads.start(lambda: threads.turn("one", "d.t", never))
    threads.commit("other", "d.t")
    with turn_on(session(lock_timeout=0.05), "d.t", threading.Event()):
        threads.done.append("two")
    given_up.set()
    with turn_on(session(), "d.t", given_up):
        threads.done.append("three")
    with turn_on(session("another metastore"), "d.t", threading.Event()):
        threads.done.append("elsewhere")
    never.set()
    assert threads.end() == ["other", "two", "three", "elsewhere", "one"]


def test_a_statement_that_fails_leaves_its_turn() -> None:
    for _ in range(2):
        with (
            pytest.raises(InterruptedError),
            turn_on(session(), "d.t", threading.Event()),
            others_first(session(), ["d.t", "d.u"]),
        ):
            raise InterruptedError
    assert Threads().end() == []
