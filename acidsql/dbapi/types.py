"""Type objects and constructors of the DB-API, and column descriptions."""

from __future__ import annotations

import time
from datetime import date, datetime
from datetime import time as time_of_day

from pyspark.sql.types import CharType, DecimalType, StructField, StructType, VarcharType


class TypeObject:
    """Set of types that is equal to the type code of each type, the type's SQL name.

    >>> NUMBER == "decimal(10,2)", NUMBER == "string"
    (True, False)
    """

    __hash__ = None  # type: ignore[assignment] # it is equal to texts that differ from each other

    def __init__(self, *names: str) -> None:
        self._names = frozenset(names)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, TypeObject):
            return self._names == other._names
        if isinstance(other, str):
            return other in self._names or other.partition("(")[0] in self._names
        return NotImplemented

    def __repr__(self) -> str:
        return f"TypeObject({', '.join(map(repr, sorted(self._names)))})"


STRING = TypeObject("string", "char", "varchar")
BINARY = TypeObject("binary")
NUMBER = TypeObject("tinyint", "smallint", "int", "bigint", "float", "double", "decimal")
BOOLEAN = TypeObject("boolean")
DATETIME = TypeObject("date", "timestamp", "timestamp_ntz", "time")
ROWID = TypeObject("struct<writeid:bigint,bucketid:int,rowid:bigint>")

Date = date
Time = time_of_day
Timestamp = datetime
Binary = bytes


def DateFromTicks(ticks: float) -> date:  # noqa: N802 - the PEP's name, as below
    """Convert seconds since 1970 to a local date."""
    return Date(*time.localtime(ticks)[:3])


def TimeFromTicks(ticks: float) -> time_of_day:  # noqa: N802
    """Convert seconds since 1970 to a local time of day."""
    return Time(*time.localtime(ticks)[3:6])


def TimestampFromTicks(ticks: float) -> datetime:  # noqa: N802
    """Convert seconds since 1970 to a local date and time."""
    return Timestamp(*time.localtime(ticks)[:6])


# name, type_code, display_size, internal_size, precision, scale, null_ok
Column = tuple[str, str, None, int | None, int | None, int | None, bool]


def description(schema: StructType) -> tuple[Column, ...]:
    """Return a cursor's description of its result columns."""
    return tuple(_column(field) for field in schema.fields)


def _column(field: StructField) -> Column:
    kind = field.dataType
    size = kind.length if isinstance(kind, CharType | VarcharType) else None
    precision, scale = (
        (kind.precision, kind.scale) if isinstance(kind, DecimalType) else (None, None)
    )
    return field.name, kind.simpleString(), None, size, precision, scale, field.nullable
