"""Hive full-ACID (v2) ORC tables from PySpark: ``acidsql.sql(spark, "UPDATE t SET …")``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from acidsql.acid_table import AcidTable
from acidsql.api import (
    check,
    health,
    location,
    maintenance,
    metrics,
    release,
    run_cleaner,
    run_compaction,
    sql,
    table,
)
from acidsql.compaction.rounds import Maintenance
from acidsql.enabled.switch import disable, enable
from acidsql.errors import AcidSqlError
from acidsql.format.health import Health
from acidsql.session.metrics import StatementMetrics
from acidsql.sink import Sink, sink, write_stream
from acidsql.transaction_handle import TransactionHandle, transaction

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "AcidSqlError",
    "AcidTable",
    "Health",
    "Maintenance",
    "Sink",
    "StatementMetrics",
    "TransactionHandle",
    "check",
    "disable",
    "enable",
    "health",
    "location",
    "maintenance",
    "metrics",
    "release",
    "run_cleaner",
    "run_compaction",
    "sink",
    "sql",
    "table",
    "transaction",
    "write_stream",
]
__version__ = "0.1.0"


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Give IPython the magics ``%acidsql`` and ``%%acidsql``: ``%load_ext acidsql``."""
    from acidsql.notebook import magics  # noqa: PLC0415 - IPython is an extra

    magics.register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Take the magics away again: ``%unload_ext acidsql``."""
    from acidsql.notebook import magics  # noqa: PLC0415

    magics.unregister(shell)
