"""Conversion of TIMESTAMP values between the zone of the files and that of the session.

A TIMESTAMP in an ORC file is a local time. Spark reads and writes it in the JVM's time zone.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType, TimestampType

from acidsql.schema.columns import has_timestamp
from acidsql.session.acid_session import AcidSession


def to_session_zone(session: AcidSession, value: Column, data_type: DataType) -> Column:
    """Convert a value read from a file, so that its local time in the session's zone is that of the
    file.
    """
    return _shifted(value, data_type, session.jvm_time_zone, session.time_zone)


def to_file_zone(session: AcidSession, value: Column, data_type: DataType) -> Column:
    """Convert a value to be written, so that the file has its local time in the session's zone."""
    return _shifted(value, data_type, session.time_zone, session.jvm_time_zone)


def _shifted(value: Column, data_type: DataType, source: str, target: str) -> Column:
    """Move instants so that their local time in ``target`` is what it was in ``source``."""
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
