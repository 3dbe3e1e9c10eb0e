from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.hive.column_statistics import from_hive, to_hive
from acidsql.metastore.table_statistics import ColumnStatistics

COUNTS = st.integers(0, 2**60)


def column(low: object, high: object, size: int, nulls: int = 0) -> ColumnStatistics:
    return ColumnStatistics(
        name="c",
        nulls=nulls,
        distinct=7,
        minimum=None if low is None else str(low),
        maximum=None if high is None else str(high),
        average_length=float(size),
        maximum_length=size,
    )


@given(st.integers(-(2**63), 2**63 - 1), COUNTS)
def test_whole_numbers(number: int, nulls: int) -> None:
    made = column(number, number, 8, nulls)
    assert from_hive(to_hive(made, "bigint", has_timestamps=True)) == made


@given(st.decimals(-(10**16), 10**16, places=4))
def test_decimals(number: Decimal) -> None:
    made = column(f"{number:f}", f"{number:f}", 8)
    assert from_hive(to_hive(made, "decimal(38,4)", has_timestamps=True)) == made


@given(st.dates())
def test_dates(day: date) -> None:
    made = column(day, day, 4)
    assert from_hive(to_hive(made, "date", has_timestamps=True)) == made


@pytest.mark.parametrize("has_timestamps", [True, False])
@given(st.datetimes())
def test_timestamps_are_whole_seconds(has_timestamps: bool, moment: datetime) -> None:
    made = column(moment, moment, 8)
    floored = moment.replace(microsecond=0)
    found = from_hive(to_hive(made, "timestamp", has_timestamps=has_timestamps))
    assert found == column(floored, floored, 8)


@given(st.integers(0, 10), st.integers(0, 10))
def test_booleans(trues: int, falses: int) -> None:
    made = ColumnStatistics(name="c", nulls=3, trues=trues, falses=falses)
    found = from_hive(to_hive(made, "boolean", has_timestamps=True))
    assert (found.trues, found.falses, found.nulls) == (trues, falses, 3)
    assert (found.minimum == "false", found.maximum == "true") == (falses > 0, trues > 0)


@pytest.mark.parametrize("kind", ["string", "varchar(9)", "char(3)", "binary"])
def test_text_has_lengths_and_no_bounds(kind: str) -> None:
    distinct = None if kind == "binary" else 4
    made = ColumnStatistics(
        name="c", nulls=1, distinct=distinct, average_length=2.5, maximum_length=9
    )
    assert from_hive(to_hive(made, kind, has_timestamps=True)) == made


def test_bounds_that_cannot_be_kept_are_left_out() -> None:
    made = column("+12024-01-31", "2024-01-31", 4)
    kept = from_hive(to_hive(made, "date", has_timestamps=True))
    assert kept == column(None, "2024-01-31", 4)
    made = column("-1.5", "NaN", 8)
    assert from_hive(to_hive(made, "double", has_timestamps=True)) == column("-1.5", None, 8)
