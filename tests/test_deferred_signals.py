"""Signals wait where steps belong together, and interrupt what may be interrupted once."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from acidsql.deferred_signals import DeferredSignals, Interruptible


def press() -> None:
    """Press Ctrl-C."""
    signal.raise_signal(signal.SIGINT)


@pytest.fixture
def noted() -> Iterator[list[int]]:
    """Signals whose handler does not raise."""
    calls: list[int] = []
    before = signal.signal(signal.SIGUSR1, lambda number, _: calls.append(number))
    yield calls
    signal.signal(signal.SIGUSR1, before)


def test_what_may_be_interrupted_is_interrupted_at_once() -> None:
    reached: list[str] = []

    def interrupted() -> None:
        with DeferredSignals(), Interruptible():
            press()
            reached.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == []


def test_a_signal_that_waited_interrupts_what_may_be_interrupted() -> None:
    reached: list[str] = []

    def interrupted() -> None:
        with DeferredSignals():
            press()
            reached.append("begun")
            with Interruptible():
                reached.append("after")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["begun"]


def test_a_second_signal_waits_until_the_first_one_s_work_is_taken_back() -> None:
    undone = []
    try:
        with DeferredSignals():
            try:
                with DeferredSignals(), Interruptible():
                    press()
            finally:
                press()
                with DeferredSignals(), Interruptible():  # taking back has such steps as well
                    undone.append("all")
    except KeyboardInterrupt:
        undone.append("raised")
    assert undone == ["all", "raised"]


def test_steps_that_may_not_be_interrupted_within_what_may() -> None:
    reached: list[str] = []

    def interrupted() -> None:
        with DeferredSignals(), Interruptible():
            with DeferredSignals():
                press()
                reached.append("inner")
            reached.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert reached == ["inner"]


def test_a_handler_that_returns_lets_later_signals_through(noted: list[int]) -> None:
    with DeferredSignals(), Interruptible():
        signal.raise_signal(signal.SIGUSR1)
        signal.raise_signal(signal.SIGUSR1)
        assert len(noted) == 2


def test_the_next_context_is_as_if_nothing_had_been_interrupted() -> None:
    handler = signal.getsignal(signal.SIGINT)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt), DeferredSignals(), Interruptible():
            press()
    assert signal.getsignal(signal.SIGINT) is handler


def test_outside_of_deferred_signals_it_changes_nothing() -> None:
    with pytest.raises(KeyboardInterrupt), Interruptible():
        press()
    with pytest.raises(KeyboardInterrupt):
        press()
