"""Kinds of Arrow types, and the names that Spark has for them."""

from __future__ import annotations

import pyarrow as pa


def is_text(data_type: pa.DataType) -> bool:
    """Return whether values of a type are texts."""
    return any(
        is_type(data_type)
        for is_type in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def is_binary(data_type: pa.DataType) -> bool:
    """Return whether values of a type are bytes."""
    return any(
        is_type(data_type)
        for is_type in (
            pa.types.is_binary,
            pa.types.is_large_binary,
            pa.types.is_binary_view,
            pa.types.is_fixed_size_binary,
        )
    )


def is_number(data_type: pa.DataType) -> bool:
    """Return whether values of a type are numbers."""
    return any(
        is_type(data_type)
        for is_type in (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    )


def is_moment(data_type: pa.DataType) -> bool:
    """Return whether values of a type are dates or timestamps."""
    return any(is_type(data_type) for is_type in (pa.types.is_date, pa.types.is_timestamp))


def spark_name(data_type: pa.DataType) -> str:
    """Return Spark's name for an Arrow type of values in files."""
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    return _SPARK_NAMES.get(data_type, str(data_type))


_SPARK_NAMES = {
    pa.bool_(): "BOOLEAN",
    pa.int8(): "TINYINT",
    pa.int16(): "SMALLINT",
    pa.int32(): "INT",
    pa.int64(): "BIGINT",
    pa.float32(): "FLOAT",
    pa.float64(): "DOUBLE",
    pa.string(): "STRING",
    pa.binary(): "BINARY",
    pa.date32(): "DATE",
    pa.timestamp("us"): "TIMESTAMP",
    pa.timestamp("us", "UTC"): "TIMESTAMP_LTZ",
}
