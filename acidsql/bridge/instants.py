"""Column types whose files store an instant.

Spark's TIMESTAMP is an instant. For most TIMESTAMP columns, files store the wall-clock time. For
the others they store the instant (``acidsql.format.timestamp_types``). These have ``InstantType``.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import repeat

from pyspark.sql.types import (
    ArrayType,
    DataType,
    MapType,
    StructField,
    StructType,
    TimestampNTZType,
    TimestampType,
)


class InstantType(TimestampType):  # type: ignore[misc] # PySpark has no types here
    """TIMESTAMP of a column whose files store the instant; it equals Spark's TIMESTAMP type."""

    @classmethod
    def typeName(cls) -> str:  # noqa: N802 - PySpark's name
        """Return Spark's name of the type."""
        return TimestampType.typeName()

    def __repr__(self) -> str:
        return "TimestampType()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TimestampType)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(TimestampType())


def types_in(data_type: DataType) -> Iterator[DataType]:
    """Yield a type and all types nested in it."""
    yield data_type
    for inner in inner_types(data_type):
        yield from types_in(inner)


def inner_types(data_type: DataType) -> list[DataType]:
    """Return the types directly nested in a type, in the order of its text; [] if it is atomic."""
    if isinstance(data_type, StructType):
        return [field.dataType for field in data_type.fields]
    if isinstance(data_type, MapType):
        return [data_type.keyType, data_type.valueType]
    return [data_type.elementType] if isinstance(data_type, ArrayType) else []


def timestamps_of(data_type: DataType) -> Iterator[DataType]:
    """Yield all timestamps in a type, in the order of its text."""
    kinds = (TimestampType, TimestampNTZType)
    return (each for each in types_in(data_type) if isinstance(each, kinds))


def instants_in(data_type: DataType) -> tuple[bool, ...]:
    """Return for each timestamp in a type whether files store the instant."""
    return tuple(isinstance(each, InstantType) for each in timestamps_of(data_type))


def with_instants(data_type: DataType, instants: Iterator[bool]) -> DataType:
    """Mark the TIMESTAMPs in a type whose files store the instant.

    Args:
        data_type: the type.
        instants: for each timestamp, including TIMESTAMP_NTZ, whether files store the instant.
            Further values are ignored.

    >>> with_instants(ArrayType(TimestampType()), iter([True])).elementType.__class__.__name__
    'InstantType'
    """
    if isinstance(data_type, TimestampType | TimestampNTZType):
        is_instant = next(instants)
        if isinstance(data_type, TimestampNTZType):
            return data_type
        return InstantType() if is_instant else TimestampType()
    if isinstance(data_type, ArrayType):
        element = with_instants(data_type.elementType, instants)
        return ArrayType(element, data_type.containsNull)
    if isinstance(data_type, MapType):
        key = with_instants(data_type.keyType, instants)
        value = with_instants(data_type.valueType, instants)
        return MapType(key, value, data_type.valueContainsNull)
    if isinstance(data_type, StructType):
        return fields_with_instants(data_type, instants)
    return data_type


def all_instants(schema: StructType) -> StructType:
    """Mark all TIMESTAMPs of columns as instants."""
    return fields_with_instants(schema, repeat(True))


def fields_with_instants(schema: StructType, instants: Iterator[bool]) -> StructType:
    """Mark the TIMESTAMPs of columns whose files store the instant, see ``with_instants``."""
    fields = [
        StructField(f.name, with_instants(f.dataType, instants), f.nullable, f.metadata)
        for f in schema.fields
    ]
    return StructType(fields)
