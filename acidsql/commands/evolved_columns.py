"""Columns of a table that has grown by those of a query: what Delta Lake calls schema evolution.

Columns come last, before the partition columns, and fields last in their structs: readers find the
columns of files by position, so nothing else can be added. No type changes but by ``widened``.
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
    """Error of a number that the column cannot hold, and whose type it cannot get."""


def grown(table: StructType, source: StructType) -> StructType:
    """Return columns with those that a source has besides, by name, and with its wider types.

    Args:
        table: columns as they are.
        source: columns that are going to be written; all of them may be NULL.

    Raises:
        LossyTypeError: its argument is the name of the column.

    >>> a, b = StructField("a", IntegerType()), StructField("b", LongType())
    >>> grown(StructType([a]), StructType([b, a])).simpleString()
    'struct<a:int,b:bigint>'
    """
    kept = [_column(f, g) for f, g in _pairs(table, source, by_name=True)]
    return StructType([*kept, *_added(table, source, by_name=True)])


def paired(table: StructType, source: StructType) -> StructType:
    """Return columns with those that a source has besides, by position; see ``grown``.

    >>> a, b = StructField("a", IntegerType()), StructField("b", LongType())
    >>> paired(StructType([a]), StructType([b, b])).simpleString()
    'struct<a:bigint,b:bigint>'
    """
    kept = [_column(f, g, by_name=False) for f, g in _pairs(table, source, by_name=False)]
    return StructType([*kept, *_added(table, source, by_name=False)])


def part_of(schema: StructType, path: Sequence[str]) -> StructType | None:
    """Return the part of a schema that has only one column, or one field within a column.

    Args:
        path: names, the outermost first.

    Returns:
        None if there is no such column.

    >>> part_of(StructType([StructField("a", LongType())]), ["A"]).simpleString()
    'struct<a:bigint>'
    """
    found = next((f for f in schema.fields if folded(f.name) == folded(path[0])), None)
    if found is None:
        return None
    if len(path) == 1:
        return StructType([found])
    inner = part_of(found.dataType, path[1:]) if isinstance(found.dataType, StructType) else None
    return None if inner is None else StructType([StructField(found.name, inner, found.nullable)])


def with_field(data_type: DataType, path: Sequence[str], field: StructField) -> DataType | None:
    """Return a type with a new field at the end of a struct in it.

    Args:
        data_type: of a column.
        path: from it to the struct, with the names that Spark has for parts of arrays and maps:
            ``element``, ``key``, ``value``.
        field: the new one.

    Returns:
        None if there is no struct at the end of the path.

    >>> a = StructField("a", LongType())
    >>> with_field(ArrayType(StructType()), ["element"], a).simpleString()
    'array<struct<a:bigint>>'
    """
    if not path:
        return StructType([*data_type.fields, field]) if isinstance(data_type, StructType) else None
    name, inner = folded(path[0]), path[1:]
    if isinstance(data_type, StructType):
        found = next((f for f in data_type.fields if folded(f.name) == name), None)
        made = None if found is None else with_field(found.dataType, inner, field)
        if found is None or made is None:
            return None
        changed = StructField(found.name, made, found.nullable)
        return StructType([changed if f is found else f for f in data_type.fields])
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
    """Return the type of a number column into which numbers of another type are written.

    It stays if it can hold them. Else it becomes theirs, if old files can be read so.

    Returns:
        None if one of the two is no number: Spark's store assignment decides.

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
    """Return whether a number column takes numbers of a type as they are, or Spark checks that."""
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
    """Return a type with the fields that the structs in another one have besides."""
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
        found = {folded(f.name): f for f in given.fields}
        return [(f, found.get(folded(f.name))) for f in old.fields]
    others: list[StructField | None] = list(given.fields[: len(old.fields)])
    others += [None] * (len(old.fields) - len(others))
    return list(zip(old.fields, others, strict=True))


def _added(old: StructType, given: StructType, *, by_name: bool) -> list[StructField]:
    """Return the fields that one struct has and the other has not."""
    if not by_name:
        return list(given.fields[len(old.fields) :])
    names = {folded(f.name) for f in old.fields}
    return [f for f in given.fields if folded(f.name) not in names]
