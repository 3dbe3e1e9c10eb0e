"""Columns of a table that gets additional columns from a query, as Delta Lake's schema evolution.

New columns follow the existing ones, before the partition columns. New fields follow the existing
ones of their struct. Readers find the columns of files by position, so no other place is possible.
Only ``widened`` changes types.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StructField,
    StructType,
)

from acidsql.commands.type_widening import convertible
from acidsql.format.identifiers import folded

_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


class LossyTypeError(Exception):
    """Error of a number column that can neither hold numbers of a type nor change to this type."""


def grown(table: StructType, source: StructType) -> StructType:
    """Add the additional columns and wider types of a source to a table, matching by name.

    Args:
        table: current columns of the table.
        source: columns to write; all of them are nullable.

    Raises:
        LossyTypeError: a column cannot hold the source's numbers; the argument is its name.

    >>> a, b = StructField("a", IntegerType()), StructField("b", LongType())
    >>> grown(StructType([a]), StructType([b, a])).simpleString()
    'struct<a:int,b:bigint>'
    """
    kept = [_column(f, g) for f, g in _pairs(table, source, by_name=True)]
    return StructType([*kept, *_added(table, source, by_name=True)])


def paired(table: StructType, source: StructType) -> StructType:
    """Add the additional columns and wider types of a source by position; see ``grown``.

    >>> a, b = StructField("a", IntegerType()), StructField("b", LongType())
    >>> paired(StructType([a]), StructType([b, b])).simpleString()
    'struct<a:bigint,b:bigint>'
    """
    kept = [_column(f, g, by_name=False) for f, g in _pairs(table, source, by_name=False)]
    return StructType([*kept, *_added(table, source, by_name=False)])


def part_of(schema: StructType, path: Sequence[str]) -> StructType | None:
    """Return a schema reduced to one column, or to one field within a column.

    Args:
        schema: the schema.
        path: names of the column and of the nested fields, the outermost first.

    Returns:
        None if the schema does not contain the column.

    >>> part_of(StructType([StructField("a", LongType())]), ["A"]).simpleString()
    'struct<a:bigint>'
    """
    outer = next((f for f in schema.fields if folded(f.name) == folded(path[0])), None)
    if outer is None:
        return None
    if len(path) == 1:
        return StructType([outer])
    inner = part_of(outer.dataType, path[1:]) if isinstance(outer.dataType, StructType) else None
    return None if inner is None else StructType([StructField(outer.name, inner, outer.nullable)])


def with_field(data_type: DataType, path: Sequence[str], field: StructField) -> DataType | None:
    """Return a type with a new field at the end of a struct in it.

    Args:
        data_type: type of a column.
        path: path from the column to the struct. Spark's names for the parts of arrays and maps are
            ``element``, ``key`` and ``value``.
        field: the new field.

    Returns:
        None if the path does not end at a struct.

    >>> a = StructField("a", LongType())
    >>> with_field(ArrayType(StructType()), ["element"], a).simpleString()
    'array<struct<a:bigint>>'
    """
    if not path:
        return StructType([*data_type.fields, field]) if isinstance(data_type, StructType) else None
    name, inner = folded(path[0]), path[1:]
    if isinstance(data_type, StructType):
        outer = next((f for f in data_type.fields if folded(f.name) == name), None)
        made = None if outer is None else with_field(outer.dataType, inner, field)
        if outer is None or made is None:
            return None
        changed = StructField(outer.name, made, outer.nullable)
        return StructType([changed if f is outer else f for f in data_type.fields])
    if isinstance(data_type, ArrayType) and name == "element":
        element = with_field(data_type.elementType, inner, field)
        return None if element is None else ArrayType(element, data_type.containsNull)
    if isinstance(data_type, MapType) and name in ("key", "value"):
        key, value = data_type.keyType, data_type.valueType
        made = with_field(key if name == "key" else value, inner, field)
        if made is None:
            return None
        pair = (made, value) if name == "key" else (key, made)
        return MapType(*pair, data_type.valueContainsNull)
    return None


def _column(old: StructField, given: StructField | None, *, by_name: bool = True) -> StructField:
    if given is None:
        return old
    try:
        made = widened(old.dataType, given.dataType)
    except LossyTypeError:
        raise LossyTypeError(old.name) from None
    if made is None:
        made = _with_fields(old.dataType, given.dataType, by_name=by_name)
    return StructField(old.name, made, old.nullable, old.metadata)


def widened(old: DataType, given: DataType) -> DataType | None:
    """Return the type that a number column needs to store numbers of another type.

    The column keeps its type if it can hold the numbers. Otherwise it gets their type, if old files
    can be read as this type.

    Returns:
        None if one of the types is not numeric; Spark's store assignment then decides.

    Raises:
        LossyTypeError: neither is possible, and digits would be lost.
    """
    if not (_is_number(old) and _is_number(given)):
        return None
    if _holds(old, given):
        return old
    if convertible(old, given):
        return given
    raise LossyTypeError


def _is_number(data_type: DataType) -> bool:
    return isinstance(data_type, (*_INTEGERS, FloatType, DoubleType, DecimalType))


def _holds(old: DataType, given: DataType) -> bool:
    """Return whether a number column holds all numbers of a type, or Spark checks each number."""
    if isinstance(old, DoubleType) or type(old) is type(given) is not DecimalType:
        return True
    if isinstance(old, FloatType):
        return not isinstance(given, DoubleType)
    if isinstance(old, DecimalType):
        if isinstance(given, DecimalType):
            digits = old.precision - old.scale
            return bool(given.scale <= old.scale and given.precision - given.scale <= digits)
        return isinstance(given, _INTEGERS)
    if isinstance(given, _INTEGERS):
        return _INTEGERS.index(type(given)) <= _INTEGERS.index(type(old))
    return isinstance(given, DecimalType) and given.scale == 0 and not convertible(old, given)


def _with_fields(old: DataType, given: DataType, *, by_name: bool) -> DataType:
    """Add the additional fields of the structs in ``given`` to the structs in ``old``."""
    if isinstance(old, StructType) and isinstance(given, StructType):
        pairs = _pairs(old, given, by_name=by_name)
        kept = [
            f
            if g is None
            else StructField(
                f.name, _with_fields(f.dataType, g.dataType, by_name=by_name), f.nullable
            )
            for f, g in pairs
        ]
        return StructType([*kept, *_added(old, given, by_name=by_name)])
    if isinstance(old, ArrayType) and isinstance(given, ArrayType):
        element = _with_fields(old.elementType, given.elementType, by_name=by_name)
        return ArrayType(element, old.containsNull)
    if isinstance(old, MapType) and isinstance(given, MapType):
        return MapType(
            _with_fields(old.keyType, given.keyType, by_name=by_name),
            _with_fields(old.valueType, given.valueType, by_name=by_name),
            old.valueContainsNull,
        )
    return old


def _pairs(
    old: StructType, given: StructType, *, by_name: bool
) -> list[tuple[StructField, StructField | None]]:
    if by_name:
        by_key = {folded(f.name): f for f in given.fields}
        return [(f, by_key.get(folded(f.name))) for f in old.fields]
    others: list[StructField | None] = list(given.fields[: len(old.fields)])
    others += [None] * (len(old.fields) - len(others))
    return list(zip(old.fields, others, strict=True))


def _added(old: StructType, given: StructType, *, by_name: bool) -> list[StructField]:
    """Return the fields of ``given`` that ``old`` does not have."""
    if not by_name:
        return list(given.fields[len(old.fields) :])
    names = {folded(f.name) for f in old.fields}
    return [f for f in given.fields if folded(f.name) not in names]
