"""``format("acidsql")`` for Spark, which looks for sources in modules whose names begin so."""

from __future__ import annotations

from acidsql.datasource import AcidDataSource as DefaultSource

__all__ = ["DefaultSource"]
