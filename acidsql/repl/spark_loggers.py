"""Loggers of PySpark that repeat each error as JSON with a Java stack trace."""

from __future__ import annotations

import importlib
import logging
from importlib.util import find_spec

_NAMES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def error_loggers() -> list[logging.Logger]:
    """Return the loggers; Spark 3 has none.

    They must have PySpark's class. PySpark calls them with special arguments, for which a plain
    logger would raise TypeError.
    """
    if find_spec("pyspark.logger") is None:
        return []
    make = importlib.import_module("pyspark.logger").PySparkLogger.getLogger
    return [make(name) for name in _NAMES]


def silence(logger: logging.Logger) -> None:
    """Prevent a logger from writing anything."""
    logger.setLevel(logging.CRITICAL + 1)
