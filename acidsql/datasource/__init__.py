"""``format("acidsql")``: ACID tables as a data source in Python, which PySpark has from 4.0 on.

``spark.read.format("acidsql").load("db.t")`` works wherever the source is registered, also from SQL
and from Spark Connect clients. It runs in Python processes beside Spark's: rows are read by the
Arrow reader and written by the streaming client.
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
    # Imported here because PySpark 3.5 has no such data sources.
    from acidsql.datasource.source import AcidDataSource  # noqa: PLC0415

    return AcidDataSource
