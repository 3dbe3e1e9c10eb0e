"""Tests of rows of ``executemany`` as one statement."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import DecimalType, IntegerType, LongType, StringType, StructField

from acidsql.dbapi.many_rows import RowTemplate, row_template, typed_rows
from acidsql.syntax import parse
from acidsql.syntax.statements import Insert


def template(text: str) -> RowTemplate | None:
    statement = parse(text)
    assert isinstance(statement, Insert)
    return row_template(text, statement)


def test_one_row_of_values_is_a_template() -> None:
    found = template("INSERT INTO t (a, b) VALUES (?, concat(?, ')')) ; -- end")
    assert found is not None
    assert found.row == "?, concat(?, ')')"
    assert found.of_literals([("1", "'x'"), ("2", "NULL")]) == (
        "INSERT INTO t (a, b)  VALUES (1, concat('x', ')')), (2, concat(NULL, ')'))"
    )


def test_braces_of_the_text_are_not_taken_for_frames() -> None:
    found = template("INSERT INTO t VALUES (:a, '{x}')")
    assert found is not None
    text = found.of_frame({"a": "`a`"}, "rows")
    assert text.format(rows="r") == "INSERT INTO t  SELECT `a`, '{x}' FROM r"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES (?), (?)",
        "INSERT INTO t SELECT ?",
        "INSERT INTO t VALUES (?, DEFAULT)",
        "INSERT INTO t VALUES (?) LIMIT 1",
        "INSERT INTO t VALUES ?, ?",
    ],
)
def test_other_inserts_are_none(text: str) -> None:
    assert template(text) is None


def test_types_are_those_of_literals() -> None:
    found = typed_rows([(1, "a", None, Decimal("1.50")), (1 << 40, None, None, Decimal(123))])
    assert found is not None
    assert found.columns == ["`p0`", "`p1`", "NULL", "`p3`"]
    assert list(found.schema.fields) == [
        StructField("p0", LongType()),
        StructField("p1", StringType()),
        StructField("p3", DecimalType(5, 2)),
    ]
    assert found.rows == [(1, "a", Decimal("1.50")), (1 << 40, None, Decimal(123))]


def test_names_of_mappings_are_kept() -> None:
    found = typed_rows([{"a": 1, "b": None}, {"b": None, "a": 2}])
    assert found is not None
    assert found.columns == {"a": "`a`", "b": "NULL"}
    assert list(found.schema.fields) == [StructField("a", IntegerType())]


@pytest.mark.parametrize(
    "rows",
    [
        [(1,), ("a",)],
        [(1,), (1, 2)],
        [(1,), {"a": 1}],
        [{"a": 1}, {"b": 1}],
        [([1],)],
        [(1 << 70,)],
        [(Decimal("NaN"),)],
        [(date(2020, 1, 1),), (datetime(2020, 1, 1),)],  # noqa: DTZ001 - local, as in Spark
        [(None,)],
    ],
)
def test_other_values_have_to_be_literals(rows: list[Any]) -> None:
    assert typed_rows(rows) is None


@given(st.lists(st.decimals(allow_nan=False, allow_infinity=False, places=3), min_size=1))
def test_decimals_fit_their_type(values: list[Decimal]) -> None:
    found = typed_rows([(value,) for value in values])
    if found is None:
        return
    kind = found.schema.fields[0].dataType
    assert isinstance(kind, DecimalType)
    for value in values:
        scaled = value.scaleb(kind.scale, context=Context(prec=100))
        assert scaled == scaled.to_integral_value(context=Context(prec=100))
        assert abs(int(scaled)) < 10**kind.precision
