"""Threads to which transactions of several statements belong.

Such a transaction belongs to the thread that began it. A shell runs each statement in a thread of
its own: that thread acts for the one in which the user types.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_acting_for: ContextVar[threading.Thread | None] = ContextVar("acidsql_acting_for", default=None)


def owner_thread() -> threading.Thread:
    """Return the thread whose transaction the statements of this thread belong to."""
    return _acting_for.get() or threading.current_thread()


@contextmanager
def acting_for(owner: threading.Thread) -> Iterator[None]:
    """Let the statements of the block belong to the transaction of another thread."""
    token = _acting_for.set(owner)
    try:
        yield
    finally:
        _acting_for.reset(token)
