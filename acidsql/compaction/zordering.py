"""Order of a DataFrame along a Hilbert curve: supported columns, and the place of each row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    FractionalType,
    IntegralType,
    StringType,
    TimestampType,
    VarcharType,
)

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.format.zorder import BITS, MOST_COLUMNS, hilbert_table, ranges_of
from acidsql.metastore.model import Table
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# Rows of the sample: forty for each of 1,024 ranges.
_SAMPLE = 40_000
# Number of bytes of a text that the order considers.
_PREFIX = 32
_TEXTS = (StringType, CharType, VarcharType, BinaryType)


def can_be_ordered(kind: DataType) -> bool:
    """Return whether a Z-order can contain a column of this type."""
    return _key_text(kind) is not None


def ordered_columns(session: AcidSession, table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a Z-order with the spelling of the table.

    Raises:
        AcidAnalysisError: INVALID_SORT_ORDER, a name is not a column in the table's files, a type
            has no order, or there are more than five columns.
    """
    known = {folded(f.name): f for f in data_schema(session.spark, table).fields}
    for name in names:
        reason = None
        if folded(name) in {column.key for column in table.partition_columns}:
            reason = "is a partition column, whose values are not in the files"
        elif folded(name) not in known:
            reason = f"is no column of {table.full_name}"
        elif not can_be_ordered(known[folded(name)].dataType):
            reason = f"is of the type {known[folded(name)].dataType.simpleString()}"
        if reason is not None:
            raise AcidAnalysisError(
                "INVALID_SORT_ORDER",
                f"ZORDER BY: {name} {reason}: name columns of numbers, texts, dates or timestamps",
            )
    columns = tuple(dict.fromkeys(known[folded(name)].name for name in names))
    if len(columns) > MOST_COLUMNS:
        raise AcidAnalysisError(
            "INVALID_SORT_ORDER",
            f"ZORDER BY has {len(columns)} columns: name {MOST_COLUMNS} at most; with more of them "
            "rows are close in none",
        )
    return columns


def z_value(rows: DataFrame, names: Sequence[str], total: int, value: str) -> DataFrame:
    """Add a column with the place of each row on a Hilbert curve through range ids of columns.

    Args:
        rows: the rows; they are also read for a sample of the columns.
        names: names of the columns; a Z-order supports their types.
        total: exact or approximate number of rows.
        value: name of the new column, a BIGINT.
    """
    spark, kinds = rows.sparkSession, {field.name: field.dataType for field in rows.schema.fields}
    keys = [F.expr(str(_key_text(kinds[name])).format(quote(name))) for name in names]
    ids = []
    for key, sample in zip(keys, _samples(rows.select(*keys), total), strict=True):
        ranges = ranges_of(sample, BITS)
        one = F.lit(ranges.ids[0])
        ids.append(bridge.range_id(spark, *ranges, key) if ranges.bounds else one)
    place = bridge.hilbert_place(spark, ids, BITS, hilbert_table(len(names)))
    return rows.withColumn(value, place)


def _key_text(kind: DataType) -> str | None:
    """Return SQL that converts a value to a BIGINT, a DOUBLE or hexadecimal digits.

    The conversion keeps the order of values. Return None if the type has no order.
    """
    if isinstance(kind, IntegralType | BooleanType):
        return "CAST({} AS BIGINT)" if isinstance(kind, IntegralType) else "CAST(INT({}) AS BIGINT)"
    if isinstance(kind, DateType):
        return "CAST(unix_date({}) AS BIGINT)"
    if isinstance(kind, TimestampType):
        return "unix_micros({})"
    if isinstance(kind, DecimalType | FractionalType):
        return "CAST({} AS DOUBLE)"
    if isinstance(kind, _TEXTS):
        return f"hex(substring(CAST({{}} AS BINARY), 1, {_PREFIX}))"
    return None


def _samples(keys: DataFrame, total: int) -> list[list[Any]]:
    """Return a sample of the values of each column, without NULL and NaN."""
    chosen = keys if total <= _SAMPLE else keys.sample(fraction=_SAMPLE / total, seed=0)
    samples: list[list[Any]] = [[] for _ in keys.columns]
    for row in chosen.collect():
        for sample, cell in zip(samples, row, strict=True):
            if cell is not None and cell == cell:  # noqa: PLR0124 - NaN is not
                sample.append(cell)
    return samples
