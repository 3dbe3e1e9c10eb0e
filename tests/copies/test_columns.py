"""Tests of the columns that an ACID table can have."""

from __future__ import annotations

import pytest
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DayTimeIntervalType,
    IntegerType,
    NullType,
    StringType,
    StructField,
    StructType,
    TimestampNTZType,
)

from acidsql.copies.columns import check_columns, plan_columns
from acidsql.errors import AcidAnalysisError


def text(kind: DataType) -> str:
    return str(kind.simpleString()).upper()


def schema(*columns: tuple[str, DataType]) -> StructType:
    return StructType([StructField(name, kind) for name, kind in columns])


def refused(*columns: tuple[str, DataType], partitions: tuple[str, ...] = ()) -> dict[str, str]:
    reports = plan_columns(schema(*columns), partitions, text)
    return {report.name: report.note for report in reports if report.is_refused}


def test_types_that_are_the_same() -> None:
    reports = plan_columns(schema(("a", IntegerType()), ("b", ArrayType(StringType()))), (), text)
    assert [str(report) for report in reports] == [
        "a INT: INT",
        "b ARRAY<STRING>: ARRAY<STRING>",
    ]


def test_a_char_keeps_its_length() -> None:
    field = StructField("c", StringType(), True, {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"})
    (report,) = plan_columns(StructType([field]), (), text)
    assert report.target == "char(3)"


@pytest.mark.parametrize(
    "kind",
    [
        NullType(),
        DayTimeIntervalType(),
        ArrayType(NullType()),
    ],
    ids=text,
)
def test_types_that_are_refused(kind: DataType) -> None:
    assert list(refused(("a", IntegerType()), ("b", kind))) == ["b"]


def test_names_that_are_refused() -> None:
    kind = IntegerType()
    assert set(refused(("a", kind), ("A", kind), ("b", kind))) == {"a", "A"}
    assert set(refused(("row__id", kind), ("b", kind))) == {"row__id"}
    assert not refused(("x`1", kind), ("x`2", kind), ("`", kind))


def test_partition_columns_that_are_refused() -> None:
    columns = (("a", IntegerType()), ("b", BinaryType()))
    assert set(refused(*columns, partitions=("b",))) == {"b"}
    assert set(refused(*columns, partitions=("a", "b"))) == {"a", "b"}
    assert not refused(*columns, partitions=("a",))


def test_all_refused_columns_are_named_at_once() -> None:
    columns = plan_columns(
        schema(("a", NullType()), ("b", IntegerType()), ("c", NullType())), (), text
    )
    with pytest.raises(AcidAnalysisError) as caught:
        check_columns(columns, "parquet:/t", "t")
    assert caught.value.condition == "COLUMNS_NOT_CONVERTIBLE"
    assert caught.value.parameters == {"columns": "a, c"}
    assert "2 of 3" in caught.value.message


def test_everything_may_be_null_in_the_target() -> None:
    kind = StructType([StructField("t", TimestampNTZType(), nullable=False)])
    (report,) = plan_columns(schema(("s", kind)), (), text)
    assert report.target == "STRUCT<T:TIMESTAMP_NTZ>"
