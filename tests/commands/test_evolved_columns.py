"""Tests of the columns that a table gets from a query, without Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    ByteType,
    CharType,
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
    StructField,
    StructType,
)

from acidsql.commands.evolved_columns import (
    LossyTypeError,
    grown,
    paired,
    part_of,
    widened,
    with_field,
)
from acidsql.commands.schema_evolution import assigned_path
from acidsql.commands.type_widening import convertible

INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def struct(**fields: DataType) -> StructType:
    return StructType([StructField(name, data_type) for name, data_type in fields.items()])


def test_columns_are_added_at_the_end_by_name() -> None:
    assert grown(struct(id=INT, v=TEXT), struct(w=LONG, ID=INT)) == struct(id=INT, v=TEXT, w=LONG)
    assert grown(struct(id=INT), struct(Id=INT)) == struct(id=INT)


def test_columns_are_added_at_the_end_by_position() -> None:
    assert paired(struct(id=INT), struct(x=INT, y=TEXT)) == struct(id=INT, y=TEXT)
    assert paired(struct(id=INT, v=TEXT), struct(x=INT)) == struct(id=INT, v=TEXT)


@pytest.mark.parametrize(
    ("old", "given", "expected"),
    [
        (struct(a=INT), struct(b=TEXT, a=INT), struct(a=INT, b=TEXT)),
        (struct(a=struct(b=INT)), struct(a=struct(c=INT)), struct(a=struct(b=INT, c=INT))),
        (ArrayType(struct(a=INT)), ArrayType(struct(z=INT)), ArrayType(struct(a=INT, z=INT))),
        (
            MapType(TEXT, struct(a=INT), False),
            MapType(TEXT, struct(a=INT, z=INT)),
            MapType(TEXT, struct(a=INT, z=INT), False),
        ),
        (struct(a=INT), struct(a=LONG), struct(a=INT)),
        (CharType(3), TEXT, CharType(3)),
        (INT, TEXT, INT),
        (DateType(), TEXT, DateType()),
    ],
)
def test_fields_are_added_at_the_ends_of_structs(
    old: DataType, given: DataType, expected: DataType
) -> None:
    assert grown(struct(c=old), struct(c=given)) == struct(c=expected)
    assert convertible(old, expected)


@pytest.mark.parametrize(
    ("old", "given", "expected"),
    [
        (INT, LONG, LONG),
        (LONG, INT, LONG),
        (ByteType(), ShortType(), ShortType()),
        (FloatType(), DoubleType(), DoubleType()),
        (DoubleType(), DecimalType(5, 2), DoubleType()),
        (DecimalType(5, 2), DecimalType(9, 4), DecimalType(9, 4)),
        (DecimalType(9, 4), DecimalType(5, 2), DecimalType(9, 4)),
        (DecimalType(5, 2), LONG, DecimalType(5, 2)),
        (LONG, DecimalType(25, 0), DecimalType(25, 0)),
        (INT, DecimalType(5, 0), INT),
        (INT, DoubleType(), DoubleType()),
        (INT, TEXT, None),
        (TEXT, INT, None),
    ],
)
def test_numbers_widen_or_stay(old: DataType, given: DataType, expected: DataType | None) -> None:
    assert widened(old, given) == expected


@pytest.mark.parametrize(
    ("old", "given"),
    [
        (LONG, DoubleType()),
        (INT, DecimalType(3, 1)),
        (DecimalType(9, 2), DecimalType(9, 4)),
        (DecimalType(9, 2), DoubleType()),
    ],
)
def test_numbers_that_would_lose_digits_are_refused(old: DataType, given: DataType) -> None:
    with pytest.raises(LossyTypeError) as caught:
        grown(struct(n=old), struct(N=given))
    assert str(caught.value) == "n"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (struct(a=INT, b=INT), struct(a=INT)),
        (struct(a=INT), struct(b=INT, a=INT)),
        (struct(a=INT), struct(a=LONG)),
        (struct(a=INT), struct(x=INT)),
        (ArrayType(struct(a=INT)), ArrayType(struct(b=INT))),
        (struct(a=INT), INT),
    ],
)
def test_fields_keep_their_places_names_and_types(old: DataType, new: DataType) -> None:
    assert not convertible(old, new)


def test_a_field_is_found_by_its_path() -> None:
    nested = struct(a=MapType(TEXT, ArrayType(struct(x=INT))))
    field = StructField("y", TEXT)
    assert with_field(nested, ["A", "value", "element"], field) == struct(
        a=MapType(TEXT, ArrayType(struct(x=INT, y=TEXT)))
    )
    assert with_field(nested, ["a"], field) is None
    assert with_field(nested, ["a", "key"], field) is None
    assert with_field(nested, ["nope"], field) is None
    assert with_field(INT, [], field) is None
    key = MapType(struct(x=INT), INT)
    assert with_field(key, ["key"], field) == MapType(struct(x=INT, y=TEXT), INT)


def test_the_part_of_an_assignment_is_that_of_its_path() -> None:
    schema = struct(id=INT, c=struct(a=INT, b=TEXT))
    assert part_of(schema, ["ID"]) == struct(id=INT)
    assert part_of(schema, ["c", "b"]) == struct(c=struct(b=TEXT))
    assert part_of(schema, ["c", "z"]) is None
    assert part_of(schema, ["id", "z"]) is None


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (("w",), ("s", "w"), ("w",)),
        (("W",), ("w",), ("w",)),
        (("t", "w"), ("s", "w"), ("w",)),
        (("c", "b"), ("s", "c", "b"), ("c", "b")),
        (("w",), ("s", "x"), None),
        (("u", "w"), ("s", "w"), None),
    ],
)
def test_an_assignment_adds_what_has_the_same_name(
    key: tuple[str, ...], value: tuple[str, ...], expected: tuple[str, ...] | None
) -> None:
    assert assigned_path(key, value, {"id", "c"}, {"t"}) == expected
