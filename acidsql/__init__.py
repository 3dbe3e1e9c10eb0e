"""Hive full-ACID (v2) ORC tables from PySpark: ``acidsql.sql(spark, "UPDATE t SET …")``."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from acidsql.acid_table import AcidTable
    from acidsql.api import (
        location,
        maintenance,
        metrics,
        release,
        run_cleaner,
        run_compaction,
        sql,
        table,
    )
    from acidsql.arrow_reader import arrow_batches, read_arrow
    from acidsql.change_consumer import consume_changes, follow_changes
    from acidsql.change_feed import ChangesSince, changes, changes_since
    from acidsql.compaction.rounds import Maintenance
    from acidsql.copies import CopyReport, convert, export
    from acidsql.datasource import register
    from acidsql.dbapi.connection import connect
    from acidsql.enabled.switch import disable, enable
    from acidsql.errors import AcidSqlError
    from acidsql.format.health import Health
    from acidsql.inspection import check, files, health
    from acidsql.session.metrics import StatementMetrics
    from acidsql.stream_sink import Sink, sink, write_stream
    from acidsql.time_travel import as_of
    from acidsql.transaction_handle import TransactionHandle, transaction

__all__ = [
    "AcidSqlError",
    "AcidTable",
    "ChangesSince",
    "CopyReport",
    "Health",
    "IdentityGenerator",
    "Maintenance",
    "Sink",
    "StatementMetrics",
    "TransactionHandle",
    "arrow_batches",
    "as_of",
    "changes",
    "changes_since",
    "check",
    "connect",
    "consume_changes",
    "convert",
    "disable",
    "enable",
    "export",
    "files",
    "follow_changes",
    "health",
    "location",
    "maintenance",
    "metrics",
    "read_arrow",
    "register",
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

# Module of each public name. A module is loaded when one of its names is first used, so that
# programs that need only ``acidsql.streaming`` or the Arrow reader start quickly.
_MODULES = {
    "AcidSqlError": "acidsql.errors",
    "AcidTable": "acidsql.acid_table",
    "IdentityGenerator": "acidsql.table_builders",
    "ChangesSince": "acidsql.change_feed",
    "CopyReport": "acidsql.copies",
    "Health": "acidsql.format.health",
    "Maintenance": "acidsql.compaction.rounds",
    "Sink": "acidsql.stream_sink",
    "StatementMetrics": "acidsql.session.metrics",
    "TransactionHandle": "acidsql.transaction_handle",
    "arrow_batches": "acidsql.arrow_reader",
    "as_of": "acidsql.time_travel",
    "changes": "acidsql.change_feed",
    "changes_since": "acidsql.change_feed",
    "check": "acidsql.inspection",
    "connect": "acidsql.dbapi.connection",
    "consume_changes": "acidsql.change_consumer",
    "convert": "acidsql.copies",
    "disable": "acidsql.enabled.switch",
    "enable": "acidsql.enabled.switch",
    "export": "acidsql.copies",
    "files": "acidsql.inspection",
    "follow_changes": "acidsql.change_consumer",
    "health": "acidsql.inspection",
    "read_arrow": "acidsql.arrow_reader",
    "register": "acidsql.datasource",
    "sink": "acidsql.stream_sink",
    "transaction": "acidsql.transaction_handle",
    "write_stream": "acidsql.stream_sink",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'acidsql' has no attribute {name!r}")
    value = getattr(import_module(_MODULES.get(name, "acidsql.api")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Add the magics ``%acidsql`` and ``%%acidsql`` to IPython: ``%load_ext acidsql``."""
    from acidsql.notebook import magics  # noqa: PLC0415 - IPython is an extra

    magics.register(shell)


def unload_ipython_extension(shell: InteractiveShell) -> None:
    """Remove the magics again: ``%unload_ext acidsql``."""
    from acidsql.notebook import magics  # noqa: PLC0415

    magics.unregister(shell)
