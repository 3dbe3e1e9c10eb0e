"""``df.write``, ``df.writeTo`` and ``df.mergeInto`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql.readwriter import DataFrameWriterV2

from acidsql import api
from acidsql.commands.transactions import refuse_writing_of_spark
from acidsql.enabled.dataframe_writer import AcidDataFrameWriter
from acidsql.enabled.dataframe_writer_v2 import AcidDataFrameWriterV2
from acidsql.enabled.merge_writer import AcidMergeIntoWriter
from acidsql.enabled.routing import instead_of, is_routed, named, written


def write(original: Any) -> property:
    """Return the replacement of ``DataFrame.write``."""
    return instead_of(
        original, lambda df: AcidDataFrameWriter(df) if is_routed(df.sparkSession) else None
    )


def write_to(original: Callable[..., DataFrameWriterV2]) -> Callable[..., DataFrameWriterV2]:
    """Return the replacement of ``DataFrame.writeTo``."""

    @wraps(original)
    def writer(self: DataFrame, table: str) -> DataFrameWriterV2:
        if is_routed(self.sparkSession):
            return AcidDataFrameWriterV2(self, table)
        return original(self, table)

    return writer


def merge_into(original: Callable[..., Any]) -> Callable[..., Any]:
    """Return the replacement of ``DataFrame.mergeInto``."""

    @wraps(original)
    def writer(self: DataFrame, table: str, condition: Column) -> Any:
        if is_routed(self.sparkSession):
            with api.working(self.sparkSession) as session:
                if written(named(session, table)) is not None:
                    return AcidMergeIntoWriter(self, table, condition)
                refuse_writing_of_spark(session, "mergeInto")
        return original(self, table, condition)

    return writer
