"""``format("acidsql")`` of enabled sessions, registered when a session first uses it."""

from __future__ import annotations

import re
import threading

from pyspark.sql import SparkSession

from acidsql import bridge, datasource
from acidsql.enabled.routing import is_routed

_NAME = "acidsql"
_TEMPORARY_VIEW = re.compile(
    rf"\s*CREATE\s+(?:OR\s+REPLACE\s+)?(?:GLOBAL\s+)?TEMP(?:ORARY)?\s+VIEW\b.*\bUSING\s+`?{_NAME}\b",
    re.IGNORECASE | re.DOTALL,
)

_lock = threading.Lock()
_registered: set[str] = set()


def register_source(spark: SparkSession, source: str | None) -> None:
    """Register the data source in an enabled session if a reader or writer uses its format.

    Raises:
        AcidAnalysisError: see ``acidsql.register``.
    """
    if (source or "").lower() != _NAME or not is_routed(spark):
        return
    with _lock:
        key = bridge.session_key(spark)
        if key not in _registered:
            datasource.register(spark)
            _registered.add(key)


def register_source_of(spark: SparkSession, text: str) -> None:
    """Register the data source if a statement creates a temporary view with it.

    See ``register_source``.
    """
    if _TEMPORARY_VIEW.match(text):
        register_source(spark, _NAME)
