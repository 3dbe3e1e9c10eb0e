"""Tests of the types of parameters of ``executemany``, and of the groups of rows by them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import (
    DecimalType,
    FloatType,
    IntegerType,
    LongType,
    StringType,
    StructField,
)

from acidsql.dbapi.typed_rows import Row, RowGroup, Targets, TypedRows, groups_of, typed_rows
from acidsql.errors import AcidAnalysisError

DAY, HALF = date(2024, 1, 1), Decimal("1.5")
NOON = datetime(2024, 1, 1, 12)  # noqa: DTZ001 - local, as in Spark


def unknown() -> Targets:
    return {}


def one(rows: Sequence[Row], targets: Targets | None = None) -> TypedRows | None:
    """Return the typed rows of the only group."""
    (group,) = groups_of(rows, lambda: targets or {})
    return typed_rows(group)


def divided(values: Sequence[Any], target: str = "") -> list[list[Any]]:
    """Return the values of each group of rows with one parameter."""
    groups = groups_of([(value,) for value in values], lambda: {0: target})
    return [list(group.columns[0]) for group in groups]


def test_types_are_those_of_literals() -> None:
    found = one(
        [(1, "a", None, Decimal("1.50")), (1 << 40, None, None, Decimal("12.25"))],
    )
    assert found is not None
    assert found.columns == ["`p0`", "`p1`", "NULL", "`p3`"]
    assert list(found.schema.fields) == [
        StructField("p0", LongType()),
        StructField("p1", StringType()),
        StructField("p3", DecimalType(4, 2)),
    ]
    assert found.rows == [(1, "a", Decimal("1.50")), (1 << 40, None, Decimal("12.25"))]


def test_a_group_may_have_no_value_of_a_parameter() -> None:
    first, second = groups_of([("x", None), (1, 5), (None, None)], unknown)
    assert first.rows() == [("x", None), (None, None)]
    typed = [typed_rows(group) for group in (first, second)]
    assert [found and found.columns for found in typed] == [["`p0`", "NULL"], ["`p0`", "`p1`"]]


def test_names_of_mappings_are_kept() -> None:
    found = one([{"a": 1, "b": None}, {"b": None, "a": 2}])
    assert found is not None
    assert found.columns == {"a": "`a`", "b": "NULL"}
    assert list(found.schema.fields) == [StructField("a", IntegerType())]


@pytest.mark.parametrize(
    ("values", "target", "expected"),
    [
        ([Decimal("1.5"), 1.5], "decimal(20,3)", [[Decimal("1.5")], [1.5]]),
        ([2**53 + 1, 2.0, None, 3], "bigint", [[2**53 + 1, None, 3], [2.0]]),
        ([2**53 + 1, 2.0, None, 3], "double", [[2**53 + 1, 2.0, None, 3]]),
        ([5, 2.5], "string", [[5], [2.5]]),
        (["x", 5, DAY, NOON, True], "", [["x"], [5], [DAY], [NOON], [True]]),
        ([None, "x", 5, None], "", [[None, "x", None], [5]]),
        ([1, 1 << 40], "string", [[1, 1 << 40]]),
        (
            [HALF, Decimal("2.25"), Decimal(3)],
            "decimal(8,3)",
            [[HALF, Decimal("2.25"), Decimal(3)]],
        ),
        (
            [HALF, Decimal("2.25"), Decimal("9.7")],
            "string",
            [[HALF, Decimal("9.7")], [Decimal("2.25")]],
        ),
        ([Decimal("1.5"), 2], "decimal(8,3)", [[Decimal("1.5"), 2]]),
        ([Decimal("1.5"), 2], "bigint", [[Decimal("1.5")], [2]]),
        ([Decimal("1E-30"), Decimal("1E+30")], "double", [[Decimal("1E-30")], [Decimal("1E+30")]]),
        ([np.int64(5), 6, np.float32(0.5)], "float", [[5, 6], [np.float32(0.5)]]),
        ([[1], [2.5], [3, None]], "array<double>", [[[1], [3, None]], [[2.5]]]),
        ([{"a": 1}, {"a": "b"}], "", [[{"a": 1}], [{"a": "b"}]]),
    ],
)
def test_groups(values: Sequence[Any], target: str, expected: list[list[Any]]) -> None:
    assert divided(values, target) == expected


def test_groups_are_those_of_all_columns() -> None:
    rows = [(1, "a"), (1.5, "b"), (2, 3), (None, "c"), (2.5, "d")]
    assert [group.rows() for group in groups_of(rows, unknown)] == [
        [(1, "a"), (None, "c")],
        [(1.5, "b"), (2.5, "d")],
        [(2, 3)],
    ]
    named: list[Row] = [{"a": 1, "b": "x"}, {"a": "y", "b": "z"}, {"a": 2}]
    assert [group.rows() for group in groups_of(named, unknown)] == [
        [{"a": 1, "b": "x"}], [{"a": "y", "b": "z"}], [{"a": 2}],
    ]  # fmt: skip
    empty: list[Row] = [(), ()]
    assert [group.rows() for group in groups_of(empty, unknown)] == [empty]


def test_scalars_of_numpy_and_pandas() -> None:
    rows = [(np.int64(5), np.float32(0.5), pd.Timestamp(NOON)), (None, None, None)]
    found = one(rows)
    assert found is not None
    assert found.rows == [(5, 0.5, NOON), (None, None, None)]
    assert type(found.rows[0][2]) is datetime
    assert found.schema.fields[1].dataType == FloatType()


@pytest.mark.parametrize("rows", [[([1],)], [(1 << 70,)], [(None,)], [{"a b": 1}]])
def test_other_values_have_to_be_literals(rows: list[Any]) -> None:
    assert one(rows) is None


def test_what_cannot_be_a_value_is_refused() -> None:
    for value in (Decimal("NaN"), pd.NaT, pd.NA):
        with pytest.raises(AcidAnalysisError):
            groups_of([(1,), (value,)], unknown)


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=1))
def test_decimals_fit_their_type(values: list[Decimal]) -> None:
    try:
        groups = groups_of([(value,) for value in values], lambda: {0: "decimal(38,10)"})
    except AcidAnalysisError:
        return
    assert len(groups) == 1
    check_decimals(groups[0])


def check_decimals(group: RowGroup) -> None:
    found = typed_rows(group)
    assert found is not None
    kind = found.schema.fields[0].dataType
    assert isinstance(kind, DecimalType)
    for value in group.columns[0]:
        scaled = value.scaleb(kind.scale, context=Context(prec=100))
        assert scaled == scaled.to_integral_value(context=Context(prec=100))
        assert abs(int(scaled)) < 10**kind.precision
