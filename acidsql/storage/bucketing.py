"""Bucket ids of the rows in a bucketed table (Hive: ``ObjectInspectorUtils.getBucketNumber``)."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import Table

_POSITIVE = 0x7FFFFFFF


def check_bucket_columns(spark: SparkSession, table: Table) -> None:
    """Refuse bucket columns with types that may hash differently than in Hive.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE.
    """
    for column in (c for c in table.columns if c.name in table.bucket_columns):
        if not bridge.can_hash(bridge.parse_type(spark, column.type)):
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.BUCKET_COLUMN_TYPE",
                f"{table.full_name} is bucketed by {column.name}, of type {column.type}, whose "
                "hash code is not known: bucket by numbers, strings or dates",
            )


def bucket_id(spark: SparkSession, table: Table, values: Sequence[Column]) -> Column:
    """Return the bucket id of a row, an INT from 0 to ``num_buckets`` - 1.

    Args:
        values: all of the table's columns that are stored in files, in their order.
    """
    by_name = {c.name: (v, c.type) for c, v in zip(table.columns, values, strict=False)}
    chosen = [by_name[name] for name in table.bucket_columns]
    if table.bucketing_version == 1:
        code = bridge.java_hash(spark, [value for value, _ in chosen]).cast("bigint")
    else:
        code = F.lit(0).cast("bigint")
        for value, declared in chosen:
            hashed = bridge.murmur_hash(spark, value, bridge.parse_type(spark, declared))
            code = _wrapped(code * 31 + hashed)
    return (code.bitwiseAND(F.lit(_POSITIVE)) % table.num_buckets).cast("int")


def _wrapped(value: Column) -> Column:
    """Return a BIGINT with the value that a Java int would have after an overflow."""
    return F.shiftright(F.shiftleft(value, 32), 32)
