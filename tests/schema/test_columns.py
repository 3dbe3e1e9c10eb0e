"""Tests of Spark's schemas and the metastore's columns."""

from __future__ import annotations

from pyspark.sql.types import ArrayType, IntegerType, MapType, StringType, StructField, StructType

from acidsql.schema.columns import as_nullable


def test_as_nullable_reaches_every_field() -> None:
    inner = StructType([StructField("b", IntegerType(), nullable=False)])
    given = StructType(
        [
            StructField("a", inner, nullable=False, metadata={"comment": "kept"}),
            StructField("l", ArrayType(inner, containsNull=False)),
            StructField("m", MapType(inner, inner, valueContainsNull=False)),
            StructField("v", StringType(), nullable=False),
        ]
    )
    free = StructType([StructField("b", IntegerType())])
    expected = [
        StructField("a", free, metadata={"comment": "kept"}),
        StructField("l", ArrayType(free)),
        StructField("m", MapType(free, free)),
        StructField("v", StringType()),
    ]
    assert as_nullable(given) == StructType(expected)
    assert as_nullable(given)["a"].metadata == {"comment": "kept"}
