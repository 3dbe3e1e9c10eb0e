"""Names of acidsql's settings, and a warning about unknown names."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from difflib import get_close_matches

from pyspark.sql import SparkSession

from acidsql import bridge

_PREFIX = "spark.acidsql."
SETTINGS = (
    "spark.acidsql.compaction.auto",
    "spark.acidsql.compaction.maxBytes",
    "spark.acidsql.defaultTable",
    "spark.acidsql.history.maxEntries",
    "spark.acidsql.history.statements",
    "spark.acidsql.isolation",
    "spark.acidsql.lock.timeout",
    "spark.acidsql.metastore",
    "spark.acidsql.metastore.kerberos.host",
    "spark.acidsql.metastore.kerberos.principal",
    "spark.acidsql.metastore.kerberos.tokenFile",
    "spark.acidsql.metastore.timeout",
    "spark.acidsql.metastore.tls.caFile",
    "spark.acidsql.metastore.tls.enabled",
    "spark.acidsql.objectStore.schemes",
    "spark.acidsql.orc.compress",
    "spark.acidsql.retries",
    "spark.acidsql.snapshot.maxAge",
    "spark.acidsql.synchronous",
    "spark.acidsql.timestampType",
    "spark.acidsql.txn.timeout",
)
"""All settings."""

# Unknown settings that this process has warned about.
_said: set[str] = set()


def warn_of_unknown(spark: SparkSession) -> None:
    """Warn once about each setting of a session that acidsql does not have."""
    for name, warning in unknown_settings(bridge.setting_names(spark, _PREFIX)):
        if name not in _said:
            _said.add(name)
            warnings.warn(warning, UserWarning, stacklevel=2)


def unknown_settings(names: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the unknown settings in ``names``, each with a warning.

    >>> [(name, warning)] = unknown_settings(["spark.acidsql.retrys", "spark.acidsql.retries"])
    >>> warning
    'there is no setting spark.acidsql.retrys: is it spark.acidsql.retries?'
    """
    for name in names:
        if name not in SETTINGS:
            near = get_close_matches(name, SETTINGS, n=1, cutoff=0.8)
            yield name, f"there is no setting {name}" + (f": is it {near[0]}?" if near else "")
