"""Callbacks that run before Spark stops, no matter which code stops it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from weakref import WeakMethod

from pyspark.sql import SparkSession

# Attribute of Python's only SparkContext that contains the methods to call.
_CALLED = "_acidsql_before_stop"


def before_stop(spark: SparkSession, method: Callable[[], None]) -> None:
    """Call a method before Spark's session or context stops.

    Args:
        spark: the session.
        method: a bound method. Its object can be collected before Spark stops.
    """
    context = spark.sparkContext
    called: list[WeakMethod[Callable[[], None]]] | None = getattr(context, _CALLED, None)
    if called is None:
        called = _wrap_stop(context)
    called.append(WeakMethod(method, called.remove))


def _wrap_stop(context: object) -> list[WeakMethod[Callable[[], None]]]:
    called: list[WeakMethod[Callable[[], None]]] = []
    stop: Callable[[], None] = context.stop  # type: ignore[attr-defined]

    def stop_after_calls() -> None:
        with ExitStack() as stack:
            stack.callback(stop)  # stop even if a method fails
            for reference in called:
                method = reference()
                if method is not None:
                    stack.callback(method)

    setattr(context, _CALLED, called)
    context.stop = stop_after_calls  # type: ignore[attr-defined]
    return called
