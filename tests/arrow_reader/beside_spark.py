"""Comparison of what Arrow reads of a table with what Spark reads of it."""

from __future__ import annotations

from pyspark.sql import SparkSession

import acidsql
from acidsql.session.acid_session import AcidSession
from tests.arrow_reader import hive_rows
from tests.hive_values import rows_with_ids


def assert_read_as_by_spark(spark: SparkSession, table: str) -> None:
    """Assert that Arrow and Spark read the same rows and row ids; ``table`` has no database."""
    session = AcidSession.of(spark)
    frame = acidsql.table(spark, table)
    found = acidsql.read_arrow(
        f"{spark.catalog.currentDatabase()}.{table}",
        columns=[*frame.columns, "row__id"],
        metastore=session.settings.metastore,
    )
    kinds = [field.dataType for field in frame.schema.fields]
    assert hive_rows.rows_with_ids(found, kinds) == rows_with_ids(frame)
