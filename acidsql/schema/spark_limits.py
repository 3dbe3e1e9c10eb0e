"""What Spark's ORC reader and writer do wrong with some types, and what is refused for it."""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    StructType,
)

from acidsql.errors import AcidAnalysisError
from acidsql.schema.columns import has_type, types_in


def has_nested_type(data_type: DataType) -> bool:
    """Whether a type is an array, a map or a struct."""
    return isinstance(data_type, ArrayType | MapType | StructType)


def has_maps_of_nested(data_type: DataType) -> bool:
    """Whether a type holds a map whose values are arrays, maps or structs.

    Spark reads some NULLs among them as values of other rows when it reads in batches.
    """
    return any(
        isinstance(found, MapType) and has_nested_type(found.valueType)
        for found in types_in(data_type)
    )


def has_dates_in_map_keys(data_type: DataType) -> bool:
    """Whether the keys of a map in the type are, or contain, dates."""
    return any(
        isinstance(found, MapType) and has_type(found.keyType, (DateType,))
        for found in types_in(data_type)
    )


def why_not_written(row: StructType) -> str | None:
    """What keeps Spark's ORC writer from writing these columns; None if nothing does.

    It keeps a map in a sorted one while it writes. Its dates (``DaysWritable``) all compare as
    equal, so that one entry is left of a map with several.
    """
    for field in row.fields:
        if has_dates_in_map_keys(field.dataType):
            return (
                f"column {field.name!r} has a map with dates as keys, of which Spark's ORC writer "
                "would lose all entries but one"
            )
    return None


def check_written(row: StructType) -> None:
    """Refuse to write columns that Spark's ORC writer cannot write.

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
