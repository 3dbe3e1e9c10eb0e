"""Tests of store assignment: values that fit, and those that are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.streaming.assignment import Rules, assign, assign_objects, partition_texts
from acidsql.streaming.column_types import parse_type
from acidsql.streaming.refusals import Refused

BERLIN = ZoneInfo("Europe/Berlin")
OBJECTS = Rules(zone=BERLIN)
TEXTS = Rules(zone=BERLIN, parses=True)
NOON = dt.datetime(2024, 7, 1, 12, 0)  # noqa: DTZ001 - local time
UTC_NOON = dt.datetime(2024, 7, 1, 10, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("tinyint", 127, 127),
        ("bigint", True, Refused),
        ("int", 2**31, Refused),
        ("int", -1.9, -1),
        ("int", float("nan"), Refused),
        ("int", Decimal("7.99"), 7),
        ("int", "7", Refused),
        ("float", 2**70, 2.0**70),
        ("double", Decimal("0.1"), 0.1),
        ("decimal(5,2)", 999, Decimal("999.00")),
        ("decimal(5,2)", 1000, Refused),
        ("decimal(5,2)", 1.005, Decimal("1.01")),
        ("decimal(5,2)", Decimal("1.5"), Decimal("1.50")),
        ("decimal(5,2)", Decimal("1.005"), Decimal("1.01")),
        ("decimal(38,0)", 10**37, Decimal(10**37)),
        ("string", 1e10, "1.0E10"),
        ("string", 12345.678, "12345.678"),
        ("string", True, "true"),
        ("string", "\ud800", Refused),
        ("string", Decimal("1E+3"), "1000"),
        ("string", NOON, "2024-07-01 12:00:00"),
        ("string", b"a", "a"),
        ("binary", "a", Refused),
        ("boolean", 1, Refused),
        ("varchar(2)", "ab  ", "ab"),
        ("varchar(2)", "abc", Refused),
        ("char(3)", "ä", "ä  "),
        ("date", NOON, dt.date(2024, 7, 1)),
        ("date", "2024-07-01", Refused),
        ("timestamp", dt.date(2024, 7, 1), NOON.replace(hour=0)),
        ("timestamp", UTC_NOON, NOON),
        ("timestamp", dt.datetime(1969, 1, 1), dt.datetime(1969, 1, 1)),  # noqa: DTZ001
        ("timestamp", dt.datetime(1969, 1, 1, 0, 0, 0, 5), Refused),  # noqa: DTZ001
        ("date", dt.date(1582, 10, 4), dt.date(1582, 10, 4)),
        ("date", dt.date(1582, 10, 5), Refused),
        ("date", dt.date(1582, 10, 14), Refused),
        ("date", dt.date(1582, 10, 15), dt.date(1582, 10, 15)),
        ("timestamp", dt.datetime(1582, 10, 4, 23, 59, 59), dt.datetime(1582, 10, 4, 23, 59, 59)),  # noqa: DTZ001
        ("timestamp", dt.datetime(1582, 10, 10), Refused),  # noqa: DTZ001
        ("array<date>", [dt.date(1582, 10, 10)], Refused),
        ("struct<a:array<date>>", {"a": [dt.date(1582, 10, 10)]}, Refused),
        ("struct<a:int>", {"a": 1, "A": 2}, Refused),
        ("array<decimal(3,1)>", [1, None, 2.25], [Decimal("1.0"), None, Decimal("2.3")]),
        ("array<int>", "ab", Refused),
        ("map<string,int>", {"a": 1, "b": None}, [("a", 1), ("b", None)]),
        ("map<string,int>", {None: 1}, Refused),
        ("struct<a:int,`b c`:array<string>>", {"A": 1}, {"a": 1, "b c": None}),
        ("struct<a:int>", {"z": 1}, Refused),
        ("struct<a:varchar(1)>", {"a": "bb"}, Refused),
        ("int", None, None),
        ("array<int>", None, None),
        ("map<int,int>", None, None),
        ("struct<a:int>", None, None),
    ],
)
def test_python_values(declared: str, value: Any, expected: Any) -> None:
    target = parse_type(declared)
    if expected is Refused:
        with pytest.raises(Refused):
            assign_objects([None, value], target, OBJECTS)
        return
    made = assign_objects([value, None, value], target, OBJECTS)
    assert made.type == target.arrow
    assert made.to_pylist() == [expected, None, expected]


@pytest.mark.parametrize(
    ("declared", "text", "expected"),
    [
        ("int", " +7 ", 7),
        ("int", "7.0", Refused),
        ("int", "1_0", Refused),
        ("smallint", "40000", Refused),
        ("double", "1.5d", 1.5),
        ("double", "Infinity", float("inf")),
        ("boolean", "Yes", True),
        ("boolean", "maybe", Refused),
        ("decimal(4,2)", "12.345", Decimal("12.35")),
        ("decimal(4,2)", "123", Refused),
        ("date", "2024-2-3", dt.date(2024, 2, 3)),
        ("date", "2024-02-30", Refused),
        ("timestamp", "2024-07-01T12:00", NOON),
        ("timestamp", "2024-07-01 10:00:00Z", NOON),
        ("timestamp", "2024-07-01 12:00:00.5 Europe/Berlin", NOON.replace(microsecond=500_000)),
        ("timestamp", "2024-07-01 06:00:00-04:00", NOON),
        ("timestamp", "2024-07-01 12:00:00 Nowhere", Refused),
        ("binary", "ä", "ä".encode()),
        ("string", " as it is ", " as it is "),
    ],
)
def test_texts_of_sources_without_types(declared: str, text: str, expected: Any) -> None:
    target = parse_type(declared)
    if expected is Refused:
        with pytest.raises(Refused):
            assign_objects([text], target, TEXTS)
    else:
        assert assign_objects([text], target, TEXTS).to_pylist() == [expected]


def test_arrow_types_are_assigned_like_values() -> None:
    struct = pa.array([{"x": 1}, None], pa.struct([("x", pa.int8())]))
    assert assign(struct, parse_type("struct<x:bigint>"), OBJECTS).to_pylist() == [{"x": 1}, None]
    lists = pa.array([[1], [], None, [2, 3]], pa.list_(pa.int64())).slice(1)
    assert assign(lists, parse_type("array<int>"), OBJECTS).to_pylist() == [[], None, [2, 3]]
    maps = pa.array([[("a", 1)], None], pa.map_(pa.string(), pa.int16()))
    target = parse_type("map<string,bigint>")
    assert assign(maps, target, OBJECTS).to_pylist() == [[("a", 1)], None]
    names = pa.array(["a", "b", "a"]).dictionary_encode()
    assert assign(names, parse_type("string"), OBJECTS).to_pylist() == ["a", "b", "a"]
    instants = pa.array([UTC_NOON], pa.timestamp("ns", "America/New_York"))
    assert assign(instants, parse_type("timestamp"), OBJECTS).to_pylist() == [NOON]
    with pytest.raises(Refused, match="cannot take a value of type string for INT"):
        assign(pa.array(["1"]), parse_type("int"), OBJECTS)


@pytest.mark.parametrize("first", range(3))
@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("timestamp", [NOON.replace(hour=0), NOON, NOON]),
        ("timestamp_ltz", [UTC_NOON - dt.timedelta(hours=12), UTC_NOON, UTC_NOON]),
        ("date", [NOON.date()] * 3),
        ("string", ["2024-07-01", "2024-07-01 12:00:00", "2024-07-01 12:00:00"]),
    ],
)
def test_each_of_mixed_dates_and_times_is_converted_by_itself(
    declared: str, expected: list[Any], first: int
) -> None:
    """Arrow takes all of them for what the first one is."""
    values, expected = [NOON.date(), NOON, UTC_NOON, None], [*expected, None]
    order = [first, *range(first), *range(first + 1, 4)]
    target = parse_type(declared)
    made = assign_objects([values[i] for i in order], target, OBJECTS)
    assert made.type == target.arrow
    assert made.to_pylist() == [expected[i] for i in order]
    inside = parse_type(f"array<{declared}>")
    assert assign_objects([[values[i] for i in order]], inside, OBJECTS).to_pylist() == [
        [expected[i] for i in order]
    ]


def test_partition_values_are_spelled_as_hive_does() -> None:
    amounts = pa.array([Decimal("1.50"), Decimal("2.00"), None])
    assert partition_texts(amounts, BERLIN).to_pylist() == ["1.5", "2", None]
    days = pa.array([dt.date(2024, 1, 2)])
    assert partition_texts(days, BERLIN).to_pylist() == ["2024-01-02"]


@pytest.mark.parametrize(
    "text", ["interval", "map<int>", "decimal(39,0)", "array<int", "int int", "struct<a>", "char"]
)
def test_types_that_cannot_be_written(text: str) -> None:
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE"):
        parse_type(text)


def test_types_as_spark_writes_them() -> None:
    text = "STRUCT<a: DECIMAL(5, 2) NOT NULL COMMENT 'x, y>', `b``c`: MAP<STRING, ARRAY<CHAR(2)>>>"
    assert parse_type(text).text == "struct<a:decimal(5,2),b`c:map<string,array<char(2)>>>"


@pytest.mark.parametrize("declared", ["double", "float"])
def test_a_negative_zero_keeps_its_sign(declared: str) -> None:
    values = [Decimal("-0.0"), 1, None, Decimal("0.25"), 0.5]
    made = assign_objects(values, parse_type(declared), TEXTS).to_pylist()
    assert [str(value) for value in made] == ["-0.0", "1.0", "None", "0.25", "0.5"]


def test_days_of_arrow_that_files_lack_are_refused() -> None:
    days = pa.array([dt.date(1500, 3, 1), dt.date(1582, 10, 14)])
    with pytest.raises(Refused, match="1582-10-05 to 1582-10-14"):
        assign(days, parse_type("date"), OBJECTS)
    assert assign(days[:1], parse_type("date"), OBJECTS) == days[:1]
