"""Marker of calls that acidsql itself makes, for which PySpark's methods are Spark's own."""

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

    Without it these calls would come back to acidsql if the session is enabled
    (``acidsql.enable``).
    """
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)
