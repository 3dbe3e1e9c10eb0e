"""Sizes of values that Spark assumes in its plans."""

from __future__ import annotations

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
    StructType,
    TimestampNTZType,
    TimestampType,
)

_SIZES: dict[type[DataType], int] = {
    BooleanType: 1,
    ByteType: 1,
    ShortType: 2,
    IntegerType: 4,
    FloatType: 4,
    DateType: 4,
    LongType: 8,
    DoubleType: 8,
    TimestampNTZType: 8,
    TimestampType: 8,
    StringType: 20,
    BinaryType: 100,
}
_LONG_DECIMAL_DIGITS = 18


def default_size(data_type: DataType) -> int:
    """Return the size in bytes that Spark assumes for a value (defaultSize of ``DataType``).

    CHAR and VARCHAR are strings in a plan.
    """
    match data_type:
        case StructType():
            return sum(default_size(field.dataType) for field in data_type.fields)
        case ArrayType():
            return default_size(data_type.elementType)
        case MapType():
            return default_size(data_type.keyType) + default_size(data_type.valueType)
        case DecimalType():
            return 8 if data_type.precision <= _LONG_DECIMAL_DIGITS else 16
    return _SIZES.get(type(data_type), _SIZES[StringType])
