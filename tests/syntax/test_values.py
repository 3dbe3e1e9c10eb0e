"""Values of Python are written as SQL with the type and the value that they have."""

from __future__ import annotations

import datetime as dt
import enum
import math
import uuid
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.errors import AcidAnalysisError
from acidsql.sqlstates import sqlstate
from acidsql.syntax.values import decimal_type, literal, microseconds, plain

INDIA = dt.timezone(dt.timedelta(hours=5, minutes=30))


class Colour(enum.Enum):
    RED = 1


class Word(enum.StrEnum):
    IT = "it's"


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (None, "NULL"),
        (True, "true"),
        (-5, "-5"),
        (2**31 - 1, "2147483647"),
        (2**31, "2147483648L"),
        (-(2**63), "-9223372036854775808L"),
        (1.5, "1.5D"),
        (1e-7, "1e-07D"),
        (-0.0, "-0.0D"),
        (math.nan, "CAST('NaN' AS DOUBLE)"),
        (-math.inf, "CAST('-Infinity' AS DOUBLE)"),
        (Decimal("1.50"), "1.50BD"),
        (Decimal("1E+3"), "1000BD"),
        (Decimal("-1E-38"), f"-0.{'0' * 37}1BD"),
        ("x", "'x'"),
        ("${env:HOME}", "CAST(X'247b656e763a484f4d457d' AS STRING)"),
        (Word.IT, "CAST(X'69742773' AS STRING)"),
        (b"\x00'", "X'0027'"),
        (bytearray(b"a"), "X'61'"),
        (dt.date(1, 1, 1), "DATE '0001-01-01'"),
        (dt.date(999, 12, 31), "DATE '0999-12-31'"),
        (
            dt.datetime(1582, 10, 4, 23, 59, 59, 500000, tzinfo=dt.UTC),
            "TIMESTAMP '1582-10-04 23:59:59.500000Z'",
        ),
        (dt.datetime(2024, 1, 1, 5, 30, tzinfo=INDIA), "TIMESTAMP '2024-01-01 00:00:00Z'"),
        (dt.datetime(1, 1, 1, tzinfo=INDIA), "timestamp_micros(-62135616600000000L)"),
        (dt.timedelta(days=1, seconds=2), "INTERVAL '1 00:00:02.000000' DAY TO SECOND"),
        (dt.timedelta(microseconds=-1), "INTERVAL '-0 00:00:00.000001' DAY TO SECOND"),
        ([1, None, [2]], "array(1, NULL, array(2))"),
        ({"a": (1.5,)}, "map('a', array(1.5D))"),
        (np.int64(5), "5"),
        (np.uint8(5), "5"),
        (np.float64(1.5), "1.5D"),
        (np.float32(1.5), "CAST(1.5D AS FLOAT)"),
        (np.bool_(True), "true"),
        (np.str_("x"), "'x'"),
        (np.array([1, 2]), "array(1, 2)"),
        (np.timedelta64(1, "s"), "INTERVAL '0 00:00:01.000000' DAY TO SECOND"),
        (pd.Timestamp("2024-01-01T00:00:00.123456789Z"), "TIMESTAMP '2024-01-01 00:00:00.123456Z'"),
        (pd.Timedelta(days=1), "INTERVAL '1 00:00:00.000000' DAY TO SECOND"),
    ],
)
def test_literal(value: object, written: str) -> None:
    assert literal(value) == written


@pytest.mark.parametrize(
    ("value", "condition", "state"),
    [
        (2**70, "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (Decimal("NaN"), "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (Decimal("Infinity"), "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (Decimal("1E-39"), "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (Decimal("1E+38"), "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (dt.timedelta.max, "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        ("\ud800'", "INVALID_PARAMETER_VALUE.OUT_OF_RANGE", "22023"),
        (uuid.UUID(int=5), "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        (pd.NA, "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        ([pd.NaT], "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        (np.datetime64("NaT"), "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        (np.complex64(1), "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        (Colour.RED, "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
        ({1, 2}, "UNSUPPORTED_FEATURE.PARAMETER_TYPE", "0A000"),
    ],
)
def test_what_cannot_be_a_value(value: object, condition: str, state: str) -> None:
    with pytest.raises(AcidAnalysisError) as caught:
        literal(value)
    assert (caught.value.getCondition(), sqlstate(condition)) == (condition, state)


@given(st.datetimes(timezones=st.timezones()))
def test_every_moment_is_exact(value: dt.datetime) -> None:
    epoch = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
    assert epoch + dt.timedelta(microseconds=microseconds(value)) - value == dt.timedelta(0)


def test_a_datetime_without_a_zone_is_a_local_time() -> None:
    for value in (dt.datetime(1500, 3, 1, 12), dt.datetime(2024, 7, 1, 12, 0, 0, 5)):  # noqa: DTZ001
        assert microseconds(value) == microseconds(value.astimezone())


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30))
def test_decimals_keep_their_digits(value: Decimal) -> None:
    try:
        precision, scale = decimal_type(value)
    except AcidAnalysisError:
        return
    text = literal(value).removesuffix("BD")
    assert Decimal(text) == value
    assert len(text.lstrip("-").partition(".")[2]) == scale
    assert precision >= scale


@pytest.mark.parametrize("value", [5, "x", None, 1.5, np.float32(1)])
def test_plain_values_stay(value: Any) -> None:
    assert plain(value) is value
