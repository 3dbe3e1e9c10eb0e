"""Padding of CHAR values, which Hive stores without trailing blanks."""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, CharType, DataType, MapType

from acidsql.schema.columns import has_type


def with_blanks(value: Column, declared: DataType) -> Column:
    """Pad the CHAR values in a column with blanks to their declared lengths, as Spark compares
    them.

    Args:
        declared: type of the column; CHAR may also occur inside arrays, maps and structs.
    """
    if not has_type(declared, (CharType,)):
        return value
    if isinstance(declared, CharType):
        return F.rpad(value, declared.length, " ")
    if isinstance(declared, ArrayType):
        element = declared.elementType
        return F.transform(value, lambda e: with_blanks(e, element))
    if isinstance(declared, MapType):
        keys, items = declared.keyType, declared.valueType
        filled = F.transform_keys(value, lambda k, _: with_blanks(k, keys))
        return F.transform_values(filled, lambda _, v: with_blanks(v, items))
    fields = [with_blanks(value.getField(f.name), f.dataType).alias(f.name) for f in declared]
    return F.when(value.isNotNull(), F.struct(*fields))
