"""Retries after conflicts, without Spark: how many, and what ends them."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import cast

import pytest

from acidsql.errors import AcidAnalysisError, MetastoreError, WriteConflictError
from acidsql.session.acid_session import AcidSession
from acidsql.session.metrics import recorded
from acidsql.transactions.retries import no_retries_after, run_again_after_conflicts
from tests.limits import set_limits

CONFLICT = WriteConflictError("CONCURRENT_WRITE", "another one was first")


def session(retries: str | None = None) -> AcidSession:
    """What retries need of a session."""
    conf = SimpleNamespace(get=lambda _, default: default if retries is None else retries)
    return cast("AcidSession", SimpleNamespace(spark=SimpleNamespace(conf=conf)))


def failing(times: int, error: Exception = CONFLICT) -> Callable[[], int]:
    """A statement that fails some times, and then returns how often it was run."""
    runs: list[int] = []

    def attempt() -> int:
        runs.append(1)
        if len(runs) <= times:
            raise error
        return len(runs)

    return attempt


@pytest.fixture
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, first_retry_seconds=0.0)


@pytest.fixture
def long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pauses of a minute."""
    set_limits(monkeypatch, first_retry_seconds=60.0, longest_retry_seconds=60.0)
    monkeypatch.setattr("random.uniform", lambda _, longest: longest)


@pytest.mark.usefixtures("short")
def test_it_is_run_again_until_it_wins_and_counted() -> None:
    with recorded() as recording:
        recording.rows["inserted"] = 7
        assert run_again_after_conflicts(session(), failing(3)) == 4
        assert recording.retries == 3
        assert recording.rows == {}


@pytest.mark.usefixtures("short")
def test_the_setting_is_the_number_of_retries() -> None:
    for retries in ("0", "2"):
        attempt = failing(9)
        with pytest.raises(WriteConflictError):
            run_again_after_conflicts(session(retries), attempt)
        with pytest.raises(WriteConflictError):
            attempt()
    attempt = failing(4)
    with pytest.raises(WriteConflictError):
        run_again_after_conflicts(session("3"), attempt)
    assert attempt() == 5
    with pytest.raises(AcidAnalysisError, match="INVALID_CONF_VALUE"):
        run_again_after_conflicts(session("often"), failing(1))


@pytest.mark.usefixtures("long")
def test_other_errors_end_it() -> None:
    with pytest.raises(MetastoreError):
        run_again_after_conflicts(
            session(), failing(1, MetastoreError("COMMIT_OUTCOME_UNKNOWN", "no answer"))
        )


@pytest.mark.usefixtures("long")
def test_an_event_ends_it_in_the_pause() -> None:
    given_up = threading.Event()
    attempt = failing(1)
    threading.Timer(0.05, given_up.set).start()
    with no_retries_after(given_up), pytest.raises(WriteConflictError):
        run_again_after_conflicts(session(), attempt)
    assert attempt() == 2


@pytest.mark.usefixtures("long")
def test_ctrl_c_ends_it_in_the_pause() -> None:
    began = time.monotonic()
    threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        run_again_after_conflicts(session(), failing(1))
    assert time.monotonic() - began < 30
