"""Conversion of values to texts by Spark, for people or for programs."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    IntegralType,
    MapType,
    NumericType,
    StringType,
    StructType,
)


class Form(Enum):
    """Kind of a column's values in JSON."""

    TEXT = "text"
    NUMBER = "number"
    JSON = "nested value, in JSON already"


def forms_of(frame: DataFrame) -> tuple[Form, ...]:
    """Return the kind of each column's values in JSON."""
    return tuple(_form(field.dataType) for field in frame.schema.fields)


def for_people(frame: DataFrame) -> DataFrame:
    """Return a frame with values for people, and nested values as Spark shows them.

    Integers and booleans stay unchanged, and all other values become texts. Columns are named by
    their positions.
    """
    return _rendered(frame, _shown)


def for_programs(frame: DataFrame) -> DataFrame:
    """Return a frame with values for programs: nested ones as JSON, the others as for people."""
    return _rendered(frame, _exported)


def _rendered(frame: DataFrame, render: Callable[[Column, DataType], Column]) -> DataFrame:
    names = [f"c{position}" for position in range(len(frame.columns))]  # names may repeat
    kinds = [field.dataType for field in frame.schema.fields]
    return frame.toDF(*names).select(
        *[render(F.col(name), kind).alias(name) for name, kind in zip(names, kinds, strict=True)]
    )


def _shown(column: Column, kind: DataType) -> Column:
    if isinstance(kind, IntegralType | BooleanType):
        return column
    if isinstance(kind, BinaryType):
        return F.concat(F.lit("X'"), F.hex(column), F.lit("'"))
    return column.cast("string")


def _exported(column: Column, kind: DataType) -> Column:
    if not _is_nested(kind):
        return _shown(column, kind)
    return F.to_json(_for_json(column, kind), {"ignoreNullFields": "false"})


def _form(kind: DataType) -> Form:
    if isinstance(kind, NumericType):
        return Form.NUMBER
    return Form.JSON if _is_nested(kind) else Form.TEXT


def _for_json(column: Column, kind: DataType) -> Column:
    """Convert the parts of a nested value to texts that ``to_json`` would write in another form.

    ``to_json`` writes binary values in base64, times in a special form, and the keys of maps in
    Spark's internal form. For a date, this is the number of the day.
    """
    if _is_json(kind):
        return column
    if isinstance(kind, StructType):
        fields = [_for_json(column.getField(f.name), f.dataType).alias(f.name) for f in kind]
        return F.when(column.isNotNull(), F.struct(*fields))
    if isinstance(kind, ArrayType):
        element = kind.elementType
        return F.transform(column, lambda value: _for_json(value, element))
    if isinstance(kind, MapType):
        keys, values = kind.keyType, kind.valueType
        inside = F.transform_values(column, lambda _, value: _for_json(value, values))
        if isinstance(keys, StringType):
            return inside
        return F.transform_keys(inside, lambda key, _: _shown(key, keys).cast("string"))
    return _shown(column, kind)


def _is_json(kind: DataType) -> bool:
    """Return whether ``to_json`` writes the values of a type in the required form."""
    if isinstance(kind, StructType):
        return all(_is_json(field.dataType) for field in kind)
    if isinstance(kind, ArrayType):
        return _is_json(kind.elementType)
    if isinstance(kind, MapType):
        return isinstance(kind.keyType, StringType) and _is_json(kind.valueType)
    return _is_nested(kind) or isinstance(kind, NumericType | BooleanType | StringType)


def _is_nested(kind: DataType) -> bool:
    # Spark 3 has no VariantType.
    is_variant = type(kind).__name__ == "VariantType"
    return is_variant or isinstance(kind, ArrayType | MapType | StructType)
