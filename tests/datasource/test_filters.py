"""Tests of Spark's filters as Arrow's."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

spark = pytest.importorskip("pyspark.sql.datasource")
if not hasattr(spark, "EqualTo"):
    pytest.skip("PySpark 4.0 has no filters", allow_module_level=True)

from acidsql.datasource.filters import expression_of  # noqa: E402 - there may be no such thing

_ROWS = pa.table(
    {
        "i": pa.array([1, 2, None], pa.int32()),
        "s": pa.array(["ab", "b", None]),
        "d": pa.array([date(2024, 1, 1), None, date(2024, 1, 2)]),
        "n": pa.array([Decimal("1.50"), Decimal("2.00"), None], pa.decimal128(5, 2)),
        "f": pa.array([float("nan"), 1.0, None]),
        "t": pa.array([0, 1, None], pa.timestamp("us")),
    }
)


def kept(*filters: Any) -> list[int] | None:
    """Return which rows are kept, None if nothing is pushed."""
    expression = expression_of(filters, _ROWS.schema)
    if expression is None:
        return None
    numbered = _ROWS.append_column("row", pa.array([0, 1, 2]))
    return list(numbered.filter(expression)["row"].to_pylist())


@pytest.mark.parametrize(
    ("filters", "rows"),
    [
        ([spark.EqualTo(("I",), 1)], [0]),
        ([spark.Not(spark.EqualTo(("i",), 1))], [1]),
        ([spark.EqualNullSafe(("i",), None)], [2]),
        ([spark.Not(spark.EqualNullSafe(("i",), 1))], [1, 2]),
        ([spark.In(("i",), (1, None))], [0]),
        ([spark.IsNull(("f",))], [2]),
        ([spark.IsNotNull(("d",)), spark.GreaterThan(("d",), date(2024, 1, 1))], [2]),
        ([spark.LessThanOrEqual(("n",), Decimal("1.5"))], [0]),
        ([spark.StringStartsWith(("s",), "a")], [0]),
        ([spark.StringEndsWith(("s",), "b")], [0, 1]),
        ([spark.StringContains(("s",), "a")], [0]),
    ],
)
def test_filters_that_are_pushed(filters: list[Any], rows: list[int]) -> None:
    assert kept(*filters) == rows


@pytest.mark.parametrize(
    "one",
    [
        spark.EqualTo(("f",), 1.0),
        spark.GreaterThan(("t",), 0),
        spark.EqualTo(("i",), 2**40),
        spark.EqualTo(("n",), Decimal("1.505")),
        spark.EqualTo(("s", "x"), "a"),
        spark.EqualTo(("unknown",), 1),
        spark.In(("i",), (1, 2**40)),
    ],
)
def test_filters_that_spark_keeps(one: Any) -> None:
    assert kept(one) is None
    assert kept(spark.Not(one)) is None
    assert kept(one, spark.EqualTo(("i",), 2)) == [1]
