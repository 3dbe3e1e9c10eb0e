"""Owners of transactions of several statements: threads, and connections of the DB-API.

Such a transaction belongs to the thread that began it. A shell runs each statement in a thread of
its own: that thread acts for the one where the user types. A connection owns its transaction
itself, whichever thread uses it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol


class Owner(Protocol):
    """Owner of a transaction of several statements: a thread, or what acts like one."""

    def is_alive(self) -> bool:
        """Return whether it can still end its transaction."""


_acting_for: ContextVar[Owner | None] = ContextVar("acidsql_acting_for", default=None)


def owner_thread() -> Owner:
    """Return the owner of the transaction that the statements of this thread belong to."""
    return _acting_for.get() or threading.current_thread()


@contextmanager
def acting_for(owner: Owner) -> Iterator[None]:
    """Let the statements of the block belong to the transaction of another owner."""
    token = _acting_for.set(owner)
    try:
        yield
    finally:
        _acting_for.reset(token)
