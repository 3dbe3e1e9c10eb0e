"""Measures of columns: SQL aggregates, and the statistics that their values yield."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pyspark.sql.types import BinaryType, BooleanType, StringType, StructField

from acidsql.format.identifiers import lowered
from acidsql.metastore.table_statistics import ColumnStatistics
from acidsql.schema.default_sizes import default_size
from acidsql.syntax.lexer import quote

# Name of the measure that contains the number of rows.
ROWS = "__rows"


def texts(columns: Sequence[StructField]) -> Iterator[tuple[str, str]]:
    """Yield the name of each measure and the SQL of its aggregate.

    Text and binary columns have lengths and no bounds; other types have bounds. The length of a
    text is in characters, as in Hive and Spark.
    """
    yield ROWS, "count(*)"
    for i, field in enumerate(columns):
        name = quote(field.name)
        yield f"values_{i}", f"count({name})"
        if isinstance(field.dataType, BooleanType):
            yield f"trues_{i}", f"count_if({name})"
        if isinstance(field.dataType, StringType | BinaryType):
            yield f"average_{i}", f"avg(length({name}))"
            yield f"longest_{i}", f"max(length({name}))"
        else:
            yield f"least_{i}", f"CAST(min({name}) AS STRING)"
            yield f"greatest_{i}", f"CAST(max({name}) AS STRING)"
        if not isinstance(field.dataType, BinaryType):
            yield f"distinct_{i}", f"approx_count_distinct({name})"


def statistics_of(
    columns: Sequence[StructField], measured: Mapping[str, Any]
) -> tuple[ColumnStatistics, ...]:
    """Make the statistics of columns from the values of their measures.

    Args:
        columns: the columns.
        measured: values of the measures by name; only ``ROWS`` if the table has no rows.
    """
    return tuple(_of_column(field, i, measured) for i, field in enumerate(columns))


def _of_column(field: StructField, i: int, measured: Mapping[str, Any]) -> ColumnStatistics:
    values = int(measured.get(f"values_{i}", 0))
    average, longest = measured.get(f"average_{i}"), measured.get(f"longest_{i}")
    if not isinstance(field.dataType, StringType | BinaryType):
        average = longest = default_size(field.dataType)
    distinct = measured.get(f"distinct_{i}", 0)
    if isinstance(field.dataType, BinaryType):
        distinct = None
    trues = None
    if isinstance(field.dataType, BooleanType):
        trues = int(measured.get(f"trues_{i}", 0))
    return ColumnStatistics(
        name=lowered(field.name),
        nulls=int(measured[ROWS]) - values,
        # The estimate can exceed the number of values.
        distinct=None if distinct is None else min(int(distinct), values),
        minimum=measured.get(f"least_{i}"),
        maximum=measured.get(f"greatest_{i}"),
        average_length=float(average or 0),
        maximum_length=int(longest or 0),
        trues=trues,
        falses=None if trues is None else values - trues,
    )
