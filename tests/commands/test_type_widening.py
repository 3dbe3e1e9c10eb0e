from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    ByteType,
    CharType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
    TimestampType,
    VarcharType,
)

from acidsql.commands.type_widening import convertible

TYPES: dict[str, DataType] = {
    "byte": ByteType(),
    "short": ShortType(),
    "int": IntegerType(),
    "long": LongType(),
    "float": FloatType(),
    "double": DoubleType(),
    "decimal(5,2)": DecimalType(5, 2),
    "decimal(6,2)": DecimalType(6, 2),
    "decimal(6,3)": DecimalType(6, 3),
    "decimal(10,0)": DecimalType(10, 0),
    "decimal(19,0)": DecimalType(19, 0),
    "boolean": BooleanType(),
    "date": DateType(),
    "timestamp": TimestampType(),
    "char(3)": CharType(3),
    "varchar(3)": VarcharType(3),
    "varchar(4)": VarcharType(4),
    "string": StringType(),
}
ALLOWED = {
    "byte": {"short", "int", "long", "double", "decimal(5,2)", "decimal(6,2)", "decimal(6,3)"},
    "short": {"int", "long", "double"},
    "int": {"long", "double"},
    "long": set[str](),
    "float": {"double"},
    "decimal(5,2)": {"decimal(6,2)", "decimal(6,3)"},
    "varchar(3)": {"varchar(4)"},
}
for _name in ("byte", "short", "int"):
    ALLOWED[_name] |= {"decimal(10,0)"}
for _name in ("byte", "short", "int", "long"):
    ALLOWED[_name] |= {"decimal(19,0)"}
for _name in ("byte", "short", "int", "long", "date", "varchar(3)", "varchar(4)"):
    ALLOWED.setdefault(_name, set()).add("string")
for _name in ("decimal(5,2)", "decimal(6,2)", "decimal(6,3)"):
    ALLOWED.setdefault(_name, set())
ALLOWED["decimal(10,0)"] = {"decimal(19,0)"}


@pytest.mark.parametrize("old", TYPES)
def test_what_a_type_may_become(old: str) -> None:
    found = {new for new in TYPES if convertible(TYPES[old], TYPES[new])}
    assert found == {old, *ALLOWED.get(old, set())}


def test_nested_types_stay_as_they_are_but_for_new_fields() -> None:
    ints, longs = ArrayType(IntegerType()), ArrayType(LongType())
    assert convertible(ints, ints)
    assert not convertible(ints, longs)
    one = StructType([StructField("a", IntegerType())])
    two = StructType([StructField("a", IntegerType()), StructField("b", IntegerType())])
    assert convertible(one, two)
    assert not convertible(two, one)
