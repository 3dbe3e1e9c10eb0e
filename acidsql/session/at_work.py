"""Whether acidsql itself is at work, so that PySpark's methods mean Spark's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_at_work: ContextVar[bool] = ContextVar("acidsql_at_work", default=False)


def is_at_work() -> bool:
    """Whether this thread runs a statement of acidsql's."""
    return _at_work.get()


@contextmanager
def at_work() -> Iterator[None]:
    """Have ``spark.sql`` and its like, which acidsql calls in the block, be Spark's own even where
    the session is enabled (``acidsql.enable``).
    """
    token = _at_work.set(True)
    try:
        yield
    finally:
        _at_work.reset(token)
