"""Loggers of PySpark that repeat each error as JSON with a Java stack trace."""

from __future__ import annotations

import importlib
import logging
from importlib.util import find_spec

_NAMES = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def error_loggers() -> list[logging.Logger]:
    """Return the loggers; none before Spark 4.

    They must be of PySpark's class: a plain logger of the same name would raise TypeError for the
    arguments that PySpark gives it.
    """
    if find_spec("pyspark.logger") is None:
        return []
    make = importlib.import_module("pyspark.logger").PySparkLogger.getLogger
    return [make(name) for name in _NAMES]


def silence(logger: logging.Logger) -> None:
    """Keep a logger from writing anything."""
    logger.setLevel(logging.CRITICAL + 1)
