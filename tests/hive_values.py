"""Rows as text, so that what Spark reads and what Hive prints compare value by value.

A value is the text that Hive prints for it: None for NULL, a tuple of fields for a struct, of
elements for an array, of (key, value) pairs in order of their keys for a map.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    MapType,
    StructType,
    TimestampType,
)

_MICROSECOND_DIGITS = 6
# writeId, bucket property, number within the writer
RowId = tuple[int, int, int]
Row = tuple[Any, ...]
Identified = tuple[RowId, Row]


def rows_with_ids(frame: DataFrame) -> list[Identified]:
    """Return the rows of an ACID table with their ``row__id``, sorted by it."""
    identity = [F.col(f"row__id.{field}") for field in ("writeid", "bucketid", "rowid")]
    texts = _texts(frame)
    types = [field.dataType for field in frame.schema.fields]
    found = frame.select(F.struct(*identity), *texts).collect()
    return in_order(((row[0][0], row[0][1], row[0][2]), _row(row[1:], types)) for row in found)


def in_order(found: Iterable[Identified]) -> list[Identified]:
    """Sort by row id, then by row, because partitions have the same row ids."""
    return sorted(found, key=lambda pair: (pair[0], repr(pair[1])))


def rows(frame: DataFrame) -> list[Row]:
    """Return the rows of a table, sorted by their text."""
    return sorted(rows_in_order(frame), key=repr)


def rows_in_order(frame: DataFrame) -> list[Row]:
    """Return the rows of a query in its order."""
    types = [field.dataType for field in frame.schema.fields]
    return [_row(row, types) for row in frame.select(*_texts(frame)).collect()]


def row_of_hive(values: Sequence[Any], types: Sequence[DataType]) -> Row:
    """Convert a row of Hive: JSON values, nested ones as JSON lists or as JSON text."""
    return tuple(_of_hive(value, kind) for value, kind in zip(values, types, strict=True))


def _texts(frame: DataFrame) -> list[Column]:
    # The dots and backticks of a name are part of it.
    names = ["`" + name.replace("`", "``") + "`" for name in frame.columns]
    fields = zip(names, frame.schema.fields, strict=True)
    return [_text(F.col(name), field.dataType) for name, field in fields]


def _text(value: Column, kind: DataType) -> Column:
    """Return a column with its leaves as Spark's text, in the session's time zone."""
    if isinstance(kind, BinaryType):
        return F.lower(F.hex(value))
    if isinstance(kind, ArrayType):
        return F.transform(value, lambda element: _text(element, kind.elementType))
    if isinstance(kind, MapType):
        return F.transform(
            F.map_entries(value),
            lambda entry: F.struct(
                _text(entry["key"], kind.keyType).alias("key"),
                _text(entry["value"], kind.valueType).alias("value"),
            ),
        )
    if isinstance(kind, StructType):
        fields = [_text(value.getField(f.name), f.dataType).alias(f.name) for f in kind.fields]
        return F.when(value.isNotNull(), F.struct(*fields))
    return value.cast("string")


def _row(values: Iterable[Any], types: Sequence[DataType]) -> Row:
    return tuple(_of_hive(value, kind) for value, kind in zip(values, types, strict=True))


def _of_hive(value: Any, kind: DataType) -> Any:
    if value is None:
        return None
    if isinstance(kind, ArrayType | MapType | StructType) and isinstance(value, str):
        value = json.loads(value)
    if isinstance(kind, StructType):
        fields = list(value.values()) if isinstance(value, dict) else value
        return _row(fields, [field.dataType for field in kind.fields])
    if isinstance(kind, ArrayType):
        return tuple(_of_hive(element, kind.elementType) for element in value)
    if isinstance(kind, MapType):
        entries = value.items() if isinstance(value, dict) else value
        types = [kind.keyType, kind.valueType]
        return tuple(sorted((_row(entry, types) for entry in entries), key=repr))
    return _leaf(value, kind)


def _leaf(value: Any, kind: DataType) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = str(value)
    if isinstance(kind, FloatType):
        return repr(struct.unpack("f", struct.pack("f", float(text)))[0])
    if isinstance(kind, DoubleType):
        return repr(float(text))
    if isinstance(kind, DecimalType | TimestampType) and "." in text:
        whole, _, fraction = text.partition(".")
        if isinstance(kind, TimestampType):  # Spark has microseconds, Hive nanoseconds
            fraction = fraction[:_MICROSECOND_DIGITS]
        fraction = fraction.rstrip("0")
        text = f"{whole}.{fraction}" if fraction else whole
    return "0" if isinstance(kind, DecimalType) and text == "-0" else text
