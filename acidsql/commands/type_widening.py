"""Type changes after which ORC reads all old values of a column without loss.

Hive's rule is in ``ColumnType.columnTypesCompatible``, ORC's rule is in
``ConvertTreeReaderFactory``.
"""

from __future__ import annotations

from pyspark.sql.types import (
    ArrayType,
    ByteType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    MapType,
    ShortType,
    StringType,
    StructType,
    VarcharType,
)

from acidsql.format.identifiers import folded

# The integer types, with their numbers of decimal digits.
_INTEGERS: dict[type[DataType], int] = {ByteType: 3, ShortType: 5, IntegerType: 10, LongType: 19}
CONVERSIONS = (
    "integers to wider ones, to decimals that hold them and to STRING; integers but BIGINT, and "
    "FLOAT, to DOUBLE; decimals to wider ones; VARCHAR to a longer one or STRING; DATE to STRING; "
    "structs to those with more fields at the end"
)


def convertible(old: DataType, new: DataType) -> bool:
    """Return whether a column of type ``old`` can get the type ``new``, or has it already."""
    if old == new or has_grown(old, new):
        return True
    digits = _INTEGERS.get(type(old))
    if digits is not None:
        return _holds_integers(digits, new)
    if isinstance(old, FloatType):
        return isinstance(new, DoubleType)
    if isinstance(old, DecimalType):
        return isinstance(new, DecimalType) and bool(
            new.scale >= old.scale and new.precision - new.scale >= old.precision - old.scale
        )
    if isinstance(old, VarcharType):
        return _is_string(new) or (isinstance(new, VarcharType) and bool(new.length >= old.length))
    return isinstance(old, DateType) and _is_string(new)


def has_grown(old: DataType, new: DataType) -> bool:
    """Return whether ``new`` equals ``old``, except for more fields at the ends of its structs.

    acidsql and Hive both find fields by name or by position. Both read NULL for fields that a file
    does not contain.
    """
    if isinstance(old, StructType) and isinstance(new, StructType):
        pairs = list(zip(old.fields, new.fields, strict=False))
        return len(pairs) == len(old.fields) and all(
            folded(o.name) == folded(n.name)
            and o.nullable == n.nullable
            and has_grown(o.dataType, n.dataType)
            for o, n in pairs
        )
    if isinstance(old, ArrayType) and isinstance(new, ArrayType):
        return has_grown(old.elementType, new.elementType)
    if isinstance(old, MapType) and isinstance(new, MapType):
        return has_grown(old.keyType, new.keyType) and has_grown(old.valueType, new.valueType)
    return bool(old == new)


def _holds_integers(digits: int, new: DataType) -> bool:
    if isinstance(new, DecimalType):
        return bool(new.precision - new.scale >= digits)
    if isinstance(new, DoubleType):
        return digits < _INTEGERS[LongType]
    return _is_string(new) or _INTEGERS.get(type(new), 0) > digits


def _is_string(data_type: DataType) -> bool:
    return type(data_type) is StringType
