"""Tests of the types and values that Spark is given."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.datasource.types import as_spark_has_it, offsets, type_ddl
from acidsql.streaming.column_types import parse_type

_BERLIN = ZoneInfo("Europe/Berlin")
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001 - local times


@pytest.mark.parametrize(
    ("text", "ddl"),
    [
        ("CHAR(3)", "string"),
        ("decimal(7,2)", "decimal(7,2)"),
        (
            "array<struct<`a b`:varchar(2),c:map<int,date>>>",
            "array<struct<`a b`:string,`c`:map<int,date>>>",
        ),
    ],
)
def test_types(text: str, ddl: str) -> None:
    assert type_ddl(parse_type(text)) == ddl


@given(
    st.lists(st.datetimes(datetime(1, 2, 1), datetime(9999, 11, 1)), max_size=20),  # noqa: DTZ001
    st.sampled_from(["UTC", "Europe/Berlin", "Africa/Monrovia", "Australia/Lord_Howe"]),
)
def test_offsets_are_those_of_the_calendar(times: list[datetime], zone: str) -> None:
    seconds = np.array(
        [int((t.replace(microsecond=0) - _EPOCH).total_seconds()) for t in times], np.int64
    )
    own = ZoneInfo(zone)
    expected = []
    for time in times:
        offset = time.replace(microsecond=0, tzinfo=own).utcoffset()
        assert offset is not None
        expected.append(int(offset.total_seconds()))
    assert offsets(seconds, own).tolist() == expected


def test_times_outside_the_calendar_of_python() -> None:
    years = np.array([-70_000_000_000, 300_000_000_000], np.int64)
    assert offsets(years, ZoneInfo("Asia/Tokyo")).tolist()[1] == 32_400


def test_times_that_are_left_out_or_twice() -> None:
    texts = ["2024-03-31T02:30:00", "2024-10-27T02:30:00", "2024-07-01T12:00:00.000001"]
    local = pa.array([*map(datetime.fromisoformat, texts), None], pa.timestamp("us"))
    target = pa.timestamp("us", "UTC")
    found = as_spark_has_it(local, target, _BERLIN)
    assert found.type == target
    assert [value and value.isoformat() for value in found.to_pylist()] == [
        "2024-03-31T01:30:00+00:00",
        "2024-10-27T00:30:00+00:00",
        "2024-07-01T10:00:00.000001+00:00",
        None,
    ]


def test_nested_times() -> None:
    local = datetime(2024, 7, 1, 12)  # noqa: DTZ001 - a local time
    utc = "2024-07-01T10:00:00+00:00"
    values = pa.array(
        [{"m": [("k", [local, None])], "n": 1}, None],
        pa.struct([("m", pa.map_(pa.string(), pa.list_(pa.timestamp("us")))), ("n", pa.int32())]),
    )
    inner = pa.list_(pa.field("element", pa.timestamp("us", "UTC")))
    target = pa.struct([("m", pa.map_(pa.string(), inner)), ("n", pa.int32())])
    found = as_spark_has_it(values, target, _BERLIN)
    assert found.type == target
    first, second = found.to_pylist()
    assert second is None
    ((key, (time, none)),) = first["m"]
    assert (key, time.isoformat(), none, first["n"]) == ("k", utc, None, 1)
