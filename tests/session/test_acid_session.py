"""Which sessions end when another one is created: no Spark."""

from __future__ import annotations

import os
from collections.abc import Sized
from types import SimpleNamespace
from typing import Any
from weakref import WeakSet

import pytest

from acidsql.session.acid_session import AcidSession


class Handle:
    """Python object of a Spark session."""


class Kept(list[str]):
    """Leases or temporary views; some end when they are looked at."""

    def __init__(self, *names: str, ending: int = 0) -> None:
        super().__init__(names)
        self._ending = ending

    def prune(self) -> None:
        del self[: self._ending]

    forget_dropped = prune


def made(handles: list[Handle], leases: Sized, views: Sized, closed: list[Any]) -> AcidSession:
    session: Any = AcidSession.__new__(AcidSession)
    session._handles, session._statements = WeakSet(handles), 0
    session.leases, session.temp_views = leases, views
    session.close = lambda: closed.append(session)
    session.spark = SimpleNamespace()
    return session  # type: ignore[no-any-return]


@pytest.mark.parametrize(
    ("leases", "views", "ends"),
    [
        (Kept(), Kept(), True),
        (Kept("lease"), Kept(), False),
        (Kept("lease", "other", ending=2), Kept(), True),
        (Kept(), Kept("view"), False),
        (Kept(), Kept("view", ending=1), True),
    ],
)
def test_a_session_ends_if_nothing_of_it_is_left(
    monkeypatch: pytest.MonkeyPatch, leases: Kept, views: Kept, ends: bool
) -> None:
    closed: list[Any] = []
    handle = Handle()
    session = made([handle], leases, views, closed)
    monkeypatch.setattr(AcidSession, "open_sessions", {"application/uuid": session})
    AcidSession._close_unreachable()
    assert closed == []
    del handle
    session._statements = 1
    AcidSession._close_unreachable()
    assert closed == []
    session._statements = 0
    AcidSession._close_unreachable()
    assert closed == ([session] if ends else [])


def test_a_forked_child_forgets_its_parents_session(monkeypatch: pytest.MonkeyPatch) -> None:
    session: Any = AcidSession.__new__(AcidSession)  # without leases, heartbeats and a metastore
    session._process = os.getppid()
    monkeypatch.setattr(AcidSession, "open_sessions", {"application/uuid": session})
    session.close()
    assert AcidSession.open_sessions == {}
