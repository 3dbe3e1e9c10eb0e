"""Conversion of TIMESTAMP values to the time zone of the files before they are written.

A TIMESTAMP in an ORC file is a local time, and is written in the JVM's time zone. acidsql reads the
session's time zone when it plans a statement, so ``SET TIME ZONE`` affects the next statement.
"""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from acidsql.metastore.model import Column as TableColumn
from acidsql.schema.columns import has_timestamp
from acidsql.session.acid_session import AcidSession


def zone_of_columns(session: AcidSession, columns: Iterable[TableColumn]) -> str:
    """Return the session's time zone if a column has timestamps, otherwise that of the files."""
    if any("timestamp" in column.type.lower() for column in columns):
        return session.time_zone
    return session.jvm_time_zone


def to_file_zone(session: AcidSession, value: Column, data_type: DataType, zone: str) -> Column:
    """Convert a value so that the file stores the local time that it has in ``zone``."""
    return _shifted(value, data_type, zone, session.jvm_time_zone)


def _shifted(value: Column, data_type: DataType, source: str, target: str) -> Column:
    """Move instants so that their new local time in ``target`` equals the old one in ``source``."""
    if source == target or not has_timestamp(data_type):
        return value
    if isinstance(data_type, TimestampType):
        return F.to_utc_timestamp(F.from_utc_timestamp(value, source), target)
    if isinstance(data_type, ArrayType):
        element = data_type.elementType
        return F.transform(value, lambda e: _shifted(e, element, source, target))
    if isinstance(data_type, MapType):
        keys, items = data_type.keyType, data_type.valueType
        moved = F.transform_keys(value, lambda k, _: _shifted(k, keys, source, target))
        return F.transform_values(moved, lambda _, v: _shifted(v, items, source, target))
    if isinstance(data_type, StructType):
        fields = [
            _shifted(value.getField(f.name), f.dataType, source, target).alias(f.name)
            for f in data_type.fields
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    return value
