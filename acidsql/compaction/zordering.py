"""Order of a DataFrame along a curve, with Spark's own expressions.

A range id is found by a binary search in an array of bounds, one step in each of some projections:
generated code without a lookup that calls out of it, and without a sort for each column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
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

from acidsql.errors import AcidAnalysisError
from acidsql.format.identifiers import folded
from acidsql.format.zorder import BITS, MOST_COLUMNS, hilbert_table, ranges_of
from acidsql.metastore.model import Table
from acidsql.schema.columns import data_schema
from acidsql.session.acid_session import AcidSession
from acidsql.syntax.lexer import quote

# Rows of the sample: forty for each of 1,024 ranges.
_SAMPLE = 40_000
# Bytes of a text that are compared.
_PREFIX = 32
_KEY, _ID = "acidsql_key_{}", "acidsql_id_{}"
_STEP, _PLACE = "acidsql_step", "acidsql_place"
_TEXTS = (StringType, CharType, VarcharType, BinaryType)


def can_be_ordered(kind: DataType) -> bool:
    """Return whether a column of a type can be one of a Z-order."""
    return _key_text(kind) is not None


def ordered_columns(session: AcidSession, table: Table, names: Sequence[str]) -> tuple[str, ...]:
    """Return the columns of a Z-order as the table spells them.

    Raises:
        AcidAnalysisError: INVALID_SORT_ORDER, one is no column of the table's files, or of a type
            that has no order; there are more than five.
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
    found = tuple(dict.fromkeys(known[folded(name)].name for name in names))
    if len(found) > MOST_COLUMNS:
        raise AcidAnalysisError(
            "INVALID_SORT_ORDER",
            f"ZORDER BY has {len(found)} columns: name {MOST_COLUMNS} at most; with more of them "
            "rows are close in none",
        )
    return found


def z_value(rows: DataFrame, names: Sequence[str], total: int, value: str) -> DataFrame:
    """Add the place on a Hilbert curve through the range ids of some columns to rows.

    Args:
        rows: the rows, which are read once more for a sample of these columns.
        names: of the columns; their types can be ordered.
        total: number of the rows, or a number close to it.
        value: name of the new column, a BIGINT.
    """
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    keys = [
        F.expr(str(_key_text(kinds[name])).format(quote(name))).alias(_KEY.format(i))
        for i, name in enumerate(names)
    ]
    ranges = [ranges_of(sample, BITS) for sample in _samples(rows.select(*keys), total)]
    own = rows.columns
    found = rows.select(*own, *keys, *[F.lit(0).alias(_ID.format(i)) for i in range(len(names))])
    arrays = [_array(each.bounds) if each.bounds else None for each in ranges]
    step = 1 << max(len(each.bounds) for each in ranges).bit_length()
    while step := step >> 1:
        positions = [
            _next(F.col(_KEY.format(i)), F.col(_ID.format(i)), array, step).alias(_ID.format(i))
            for i, array in enumerate(arrays)
        ]
        found = found.select(*own, *[_KEY.format(i) for i in range(len(names))], *positions)
    ids = [
        F.get(_array(each.ids), F.col(_ID.format(i))).alias(_ID.format(i))
        for i, each in enumerate(ranges)
    ]
    found = found.select(*own, *ids)
    return _along_curve(found, own, len(names)).withColumnRenamed(_PLACE, value)


def _along_curve(found: DataFrame, own: Sequence[str], columns: int) -> DataFrame:
    """Put ``hilbert_place`` of range ids in their place, one bit of each in each projection."""
    table = _array(hilbert_table(columns))
    ids = [_ID.format(column) for column in range(columns)]
    found = found.select(*own, *ids, F.lit(0).alias(_STEP), F.lit(0).cast("bigint").alias(_PLACE))
    for bit in reversed(range(BITS)):
        step = " | ".join(
            f"shiftleft(CAST(shiftright({name}, {bit}) & 1 AS INT), {column})"
            for column, name in enumerate(ids)
        )
        state = f"shiftleft(shiftright({_STEP}, {columns}), {columns})"
        found = found.select(
            *own,
            *ids,
            F.get(table, F.expr(f"CAST({state} | {step} AS INT)")).cast("int").alias(_STEP),
            _PLACE,
        ).select(*own, *ids, _STEP, F.expr(_longer(columns)).alias(_PLACE))
    return found.select(*own, _PLACE)


def _longer(columns: int) -> str:
    """Return SQL of a place with the bits of one more step."""
    return f"shiftleft({_PLACE}, {columns}) | ({_STEP} & {(1 << columns) - 1})"


def _key_text(kind: DataType) -> str | None:
    """Return SQL text of a value as a BIGINT, a DOUBLE or hexadecimal digits, in the same order;
    None if the type has no order.
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
    """Return some values of each column, without NULL and NaN."""
    chosen = keys if total <= _SAMPLE else keys.sample(fraction=_SAMPLE / total, seed=0)
    samples: list[list[Any]] = [[] for _ in keys.columns]
    for row in chosen.collect():
        for sample, found in zip(samples, row, strict=True):
            if found is not None and found == found:  # noqa: PLR0124 - NaN is not
                sample.append(found)
    return samples


def _array(values: Sequence[Any]) -> Column:
    """Return numbers or texts as an array.

    Of one text, because each step of the analysis walks through a literal for each of them; it is a
    constant when rows are read.
    """
    texts = f"split('{','.join(map(str, values))}', ',')"
    if isinstance(values[0], str):
        return F.expr(texts)
    return F.expr(
        f"CAST({texts} AS ARRAY<{'DOUBLE' if isinstance(values[0], float) else 'BIGINT'}>)"
    )


def _next(key: Column, found: Column, array: Column | None, step: int) -> Column:
    """Return the position after a step of the search; NULL is before all bounds."""
    if array is None:
        return found
    return found + F.when(F.get(array, found + (step - 1)) <= key, step).otherwise(0)
