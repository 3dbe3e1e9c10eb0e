"""Tests of bucket ids: hash codes that Hive has given."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from acidsql.streaming.column_types import parse_type
from acidsql.streaming.hashing import bucket_ids

MAX = 2**31


def _code(declared: str, value: Any, version: int) -> int:
    """Return a hash code, from its rests: 31 bits of it are a bucket id."""
    target = parse_type(declared)
    (found,) = bucket_ids([pa.array([value], target.arrow)], [target], version, MAX)
    return int(found)


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("int", 1, 1_321_152_925),
        ("int", -1, 1_626_716_813),
        ("bigint", 1, -913_662_660),
        ("smallint", -1, -1_220_617_012),
        ("string", "foo", -849_979_058),
        ("string", "hello", 1_321_743_225),
        ("string", "é", -527_561_221),
        ("char(8)", "hello   ", 1_321_743_225),
        ("float", 1.5, -1_009_260_869),
        ("double", 1.5, 76_905_473),
        ("decimal(10,4)", Decimal("12.3400"), 1_616_447_396),
        ("decimal(10,0)", Decimal(-5), -1_283_825_982),
        ("boolean", True, 1),
        ("tinyint", -3, -3),
        ("date", dt.date(1970, 1, 2), 1_321_152_925),
        ("int", None, 0),
    ],
)
def test_murmur_codes_are_hives(declared: str, value: Any, expected: int) -> None:
    assert _code(declared, value, 2) == expected % MAX


@pytest.mark.parametrize(
    ("declared", "value", "expected"),
    [
        ("int", -7, -7),
        ("bigint", 2**32 + 5, 4),
        ("string", "hello", 99_162_322),
        ("boolean", True, 1),
        ("date", dt.date(1970, 1, 11), 10),
        ("double", 1.0, 1_072_693_248),
        ("decimal(10,2)", Decimal("12.50"), 31 * 125 + 1),
    ],
)
def test_codes_of_version_1_are_javas(declared: str, value: Any, expected: int) -> None:
    assert _code(declared, value, 1) == expected % MAX


def test_codes_of_several_columns_are_combined() -> None:
    types = [parse_type("int"), parse_type("int")]
    columns = [pa.array([3, None], pa.int32()), pa.array([4, 4], pa.int32())]
    assert np.array_equal(bucket_ids(columns, types, 1, 10), [(3 * 31 + 4) % 10, 4])
