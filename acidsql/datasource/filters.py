"""Conversion of Spark filters to Arrow expressions, for columns that both compare alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import datasource as spark_filters

from acidsql.format.identifiers import folded

KEEPS_PLANS = hasattr(spark_filters, "EqualTo")
"""Whether this PySpark passes filters to Python data sources, and reuses the plan of a relation's
first query: PySpark 4.1 and later.
"""

_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EqualTo": lambda column, value: column == value,
    "GreaterThan": lambda column, value: column > value,
    "GreaterThanOrEqual": lambda column, value: column >= value,
    "LessThan": lambda column, value: column < value,
    "LessThanOrEqual": lambda column, value: column <= value,
}
_TEXTS: dict[str, Callable[[Any, str], Any]] = {
    "StringStartsWith": pc.starts_with,
    "StringEndsWith": pc.ends_with,
    "StringContains": pc.match_substring,
}


def expression_of(filters: Iterable[Any], schema: pa.Schema) -> pc.Expression | None:
    """Return an expression that is true for every row that meets the filters.

    It is None if no filter can be converted.

    Args:
        filters: filters of PySpark's module for data sources, connected by AND.
        schema: schema of the table's columns.
    """
    made = [expression for one in filters if (expression := _expression(one, schema)) is not None]
    return reduce(and_, made) if made else None


def _expression(one: Any, schema: pa.Schema) -> pc.Expression | None:
    kind = type(one).__name__
    if kind == "Not":
        inner = _expression(one.child, schema)
        return None if inner is None else ~inner
    if len(one.attribute) != 1:
        return None
    (name,) = one.attribute
    # Field names of a table are case-insensitive.
    names = {folded(known): known for known in schema.names}
    field = names.get(folded(name))
    if field is None:
        return None
    column, data_type = pc.field(field), schema.field(field).type
    if kind == "IsNull":
        return column.is_null()
    if kind == "IsNotNull":
        return column.is_valid()
    if not _compares_alike(data_type):
        return None
    if kind == "In":
        values = [_scalar(value, data_type) for value in one.value if value is not None]
        return None if None in values else _is_in(column, values, data_type)
    if kind == "EqualNullSafe" and one.value is None:
        return column.is_null()
    value = _scalar(one.value, data_type)
    if value is None:
        return None
    if kind == "EqualNullSafe":
        return (column == value) & column.is_valid()
    if kind in _TEXTS:
        return _TEXTS[kind](column, value.as_py()) if pa.types.is_string(data_type) else None
    compare = _COMPARISONS.get(kind)
    return None if compare is None else compare(column, value)


def _is_in(column: Any, values: Sequence[pa.Scalar], data_type: pa.DataType) -> pc.Expression:
    return column.isin(pa.array([value.as_py() for value in values], data_type))


def _compares_alike(data_type: pa.DataType) -> bool:
    """Return whether Arrow orders the values of a type as Spark does.

    It does not for floating-point numbers and timestamps. NaN equals itself only in Spark, and
    timestamps are local times here.
    """
    return any(
        is_type(data_type)
        for is_type in (
            pa.types.is_integer,
            pa.types.is_string,
            pa.types.is_date,
            pa.types.is_boolean,
            pa.types.is_decimal,
        )
    )


def _scalar(value: Any, data_type: pa.DataType) -> pa.Scalar | None:
    """Convert a value to a column's type; return None if the type has no such value."""
    if value is None or isinstance(value, float):
        return None
    try:
        made = pa.scalar(value, data_type)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return None
    return made if made.as_py() == value else None
