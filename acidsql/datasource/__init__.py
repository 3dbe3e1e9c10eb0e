"""``format("acidsql")``: ACID tables as a Python data source, for PySpark 4.0 and later.

``spark.read.format("acidsql").load("db.t")`` works wherever the source is registered, including in
SQL and in Spark Connect clients. The source runs in separate Python processes next to Spark. It
reads rows with the Arrow reader and writes them with the streaming client.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from acidsql.datasource.registration import refuse_old_spark, register

if TYPE_CHECKING:
    from acidsql.datasource.source import AcidDataSource

__all__ = ["AcidDataSource", "register"]


def __getattr__(name: str) -> Any:
    if name != "AcidDataSource":
        raise AttributeError(f"module 'acidsql.datasource' has no attribute {name!r}")
    refuse_old_spark()
    # Imported here because PySpark 3.5 has no Python data sources.
    from acidsql.datasource.source import AcidDataSource  # noqa: PLC0415

    return AcidDataSource
