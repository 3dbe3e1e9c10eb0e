"""Marker for calls by acidsql itself, where PySpark's methods must be Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_at_work: ContextVar[bool] = ContextVar("acidsql_at_work", default=False)


def is_at_work() -> bool:
    """Return whether this thread is running a statement of acidsql."""
    return _at_work.get()


@contextmanager
def at_work() -> Iterator[None]:
    """Let acidsql call Spark's own ``spark.sql`` and similar methods within the block.

    In an enabled session (``acidsql.enable``), these calls would otherwise call acidsql again.
    """
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)
