"""Turns of statements in this process that have lost a conflict: each commits first once.

Statements that change the same row at the same time race for the first commit, and all but one
lose. If the losers raced again, some would use up their retries. The losers on a table therefore
run one after the other. Before another transaction of this process commits changes of the table's
rows, it lets the statement that has its turn commit first. Other processes do not see the turns.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from acidsql.limits import limits
from acidsql.session.acid_session import AcidSession

# Metastore and full name of a table.
_Key = tuple[str, str]

_changed = threading.Condition()
_queues: defaultdict[_Key, deque[object]] = defaultdict(deque)
_passing: Counter[_Key] = Counter()
# Turns of the statement that this thread runs.
_thread_turns: ContextVar[tuple[object, ...]] = ContextVar("acidsql_turns", default=())


@contextmanager
def turn_on(session: AcidSession, table: str, given_up: threading.Event) -> Iterator[None]:
    """Run a statement that has lost a conflict in the block, as soon as it has its turn.

    Args:
        session: the session.
        table: full name of the table where the conflict occurred.
        given_up: event that ends the wait; the time-out of locks ends it too.
    """
    key, turn = _key(session, table), object()
    deadline = time.monotonic() + session.settings.lock_timeout
    with _changed:
        _queues[key].append(turn)
    token = _thread_turns.set((*_thread_turns.get(), turn))
    try:
        with _changed:
            while (_queues[key][0] is not turn or _passing[key]) and not given_up.is_set():
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                _changed.wait(min(left, limits().turn_poll_seconds))
        yield
    finally:
        _thread_turns.reset(token)
        with _changed:
            _queues[key].remove(turn)
            if not _queues[key]:
                del _queues[key]
            _changed.notify_all()


@contextmanager
def others_first(session: AcidSession, tables: Sequence[str]) -> Iterator[None]:
    """Commit changes of rows of some tables in the block, after statements that have their turn.

    The wait is limited, because the transaction that commits holds locks.
    """
    keys = sorted({_key(session, table) for table in tables})
    deadline = time.monotonic() + limits().turn_seconds
    with _changed:
        for key in keys:
            first = _queues[key][0] if key in _queues else None
            while first is not None and first not in _thread_turns.get() and _is_first(key, first):
                left = deadline - time.monotonic()
                if left <= 0:
                    break
                _changed.wait(left)
        _passing.update(keys)
    try:
        yield
    finally:
        with _changed:
            _passing.subtract(keys)
            for key in keys:
                if not _passing[key]:
                    del _passing[key]
            _changed.notify_all()


def _is_first(key: _Key, one: object) -> bool:
    return key in _queues and _queues[key][0] is one


def _key(session: AcidSession, table: str) -> _Key:
    return session.settings.metastore, table
