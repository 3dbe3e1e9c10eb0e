"""Checks for types that Spark's ORC writer, which writes insert-only tables, stores wrongly."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructType,
    TimestampNTZType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.model import FileFormat, Table
from acidsql.schema.columns import has_type


def has_nested_type(data_type: DataType) -> bool:
    """Return whether a type is an array, a map or a struct."""
    return isinstance(data_type, ArrayType | MapType | StructType)


def has_dates_in_map_keys(data_type: DataType) -> bool:
    """Return whether a type contains a map with dates in its keys."""
    return any(
        isinstance(contained, MapType) and has_type(contained.keyType, (DateType,))
        for contained in bridge.types_in(data_type)
    )


def is_written_by_spark(table: Table) -> bool:
    """Return whether Spark's ORC classes write the files of a table, as for insert-only tables."""
    return table.insert_only and table.file_format is FileFormat.ORC


def why_not_written(row: StructType) -> str | None:
    """Return the reason why Spark's ORC writer cannot write these columns, or None.

    The writer keeps the entries of a map in a sorted map. Its dates (``DaysWritable``) all compare
    as equal, so only one entry of a map with dates as keys would remain. The writer stores a
    TIMESTAMP_NTZ as a number.
    """
    for field in row.fields:
        if has_type(field.dataType, (TimestampNTZType,)):
            return (
                f"column {field.name!r} has a TIMESTAMP_NTZ: Spark's ORC writer makes it a number"
            )
        if has_dates_in_map_keys(field.dataType):
            return (
                f"column {field.name!r} has a map with dates as keys: Spark's ORC writer would "
                "lose all its entries but one"
            )
    return None


def check_written(row: StructType) -> None:
    """Check that Spark's ORC writer can write these columns.

    Raises:
        AcidAnalysisError: UNSUPPORTED_DATATYPE.
    """
    reason = why_not_written(row)
    if reason is not None:
        raise AcidAnalysisError(
            "UNSUPPORTED_DATATYPE",
            f"{reason}: it can be read, and rows deleted; to write it, use Hive, or keys of type "
            "STRING",
        )
