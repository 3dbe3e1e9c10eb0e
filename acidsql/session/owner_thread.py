"""Owners of transactions of several statements: threads, and connections of the DB-API.

A transaction belongs to the thread that began it. A shell runs each statement in a separate thread,
which acts for the thread where the user types. A connection owns its transaction itself, for every
thread that uses the connection.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Owner(Protocol):
    """Owner of a transaction of several statements: a thread, or an object that acts like one."""

    def is_alive(self) -> bool:
        """Return whether the owner can still end its transaction."""


_acting_for: ContextVar[Owner | None] = ContextVar("acidsql_acting_for", default=None)


def owner_thread() -> Owner:
    """Return the owner of the transaction for the statements of this thread."""
    return _acting_for.get() or threading.current_thread()


@contextmanager
def acting_for(owner: Owner) -> Iterator[None]:
    """Assign the statements of the block to the transaction of another owner."""
    token = _acting_for.set(owner)
    try:
        yield
    finally:
        _acting_for.reset(token)
