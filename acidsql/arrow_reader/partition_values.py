"""Values of partition columns, which the metastore stores as texts."""

from __future__ import annotations

from collections.abc import Sequence
from zoneinfo import ZoneInfo

import pyarrow as pa

from acidsql.errors import FormatError
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.metastore.model import Table
from acidsql.streaming.column_types import ColumnType
from acidsql.streaming.texts import reader


def partition_scalars(
    table: Table, values: Sequence[str], types: Sequence[ColumnType]
) -> list[pa.Scalar]:
    """Convert the values of a partition to the types of the partition columns.

    Args:
        table: the table.
        values: texts in the metastore.
        types: types of the partition columns.

    Raises:
        FormatError: UNSUPPORTED_FEATURE.ARROW_VALUE, a text is not a value of its type.
    """
    return [_scalar(table, values, *pair) for pair in zip(values, types, strict=True)]


def _scalar(table: Table, values: Sequence[str], text: str, kind: ColumnType) -> pa.Scalar:
    if text == DEFAULT_PARTITION:
        return null_of(kind)
    try:
        return scalar_of(text, kind)
    except (ValueError, OverflowError, pa.ArrowException) as error:
        raise FormatError(
            "UNSUPPORTED_FEATURE.ARROW_VALUE",
            f"partition {table.partition_name(tuple(values))} of {table.full_name} has {text!r} in "
            f"a column of type {kind.text}: {error or 'it is none'}; read the table with "
            "acidsql.table",
        ) from error


def null_of(kind: ColumnType) -> pa.Scalar:
    """Return NULL of a type; for a timestamp, Arrow's constructor would import pandas."""
    return pa.nulls(1, kind.arrow)[0]


def scalar_of(text: str, kind: ColumnType) -> pa.Scalar:
    """Parse a text as a value of a type.

    Raises:
        ValueError: the text is not a value of the type; OverflowError and Arrow's exceptions mean
            the same.
    """
    arrow = kind.arrow
    if pa.types.is_string(arrow):
        return pa.scalar(text, arrow)
    if pa.types.is_binary(arrow):
        return pa.scalar(text.encode(), arrow)
    return pa.scalar(reader(arrow, ZoneInfo("UTC"))(text), arrow)
