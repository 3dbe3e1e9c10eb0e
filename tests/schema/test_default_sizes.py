from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql.schema.default_sizes import default_size


@pytest.mark.parametrize(
    ("data_type", "size"),
    [
        (BooleanType(), 1), (ByteType(), 1), (ShortType(), 2), (IntegerType(), 4), (LongType(), 8),
        (FloatType(), 4), (DoubleType(), 8), (DateType(), 4), (TimestampType(), 8),
        (StringType(), 20), (VarcharType(3), 20), (BinaryType(), 100), (DecimalType(18, 2), 8),
        (DecimalType(19, 2), 16), (ArrayType(LongType()), 8),
        (MapType(StringType(), IntegerType()), 24),
        (StructType([StructField("a", LongType()), StructField("b", StringType())]), 28),
    ],
)  # fmt: skip
def test_default_sizes_are_those_of_spark(data_type: DataType, size: int) -> None:
    assert default_size(data_type) == size
