"""Tests that values and names of ``AcidTable`` and parameters reach the table unchanged."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F

from acidsql import AcidTable

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

STRINGS = [
    "", "it's", '"quoted"', "a\\b", "\\", "\\'", "%\\_", "x\ny\tz", "a;b -- c /* d */",
    ":p ? {s} {{}}", "${env:PATH}", "${spark.app.name}", "`", "é😀", "NULL",
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize("escaped", ["false", "true"])
def test_strings_are_stored_as_they_are(lab: Lab, escaped: str) -> None:
    columns = {f"c{i}": F.lit(text) for i, text in enumerate(STRINGS)}
    t = lab.create(
        "id int, " + ", ".join(f"{name} string" for name in columns),
        values="(1" + ", 'x'" * len(STRINGS) + ")",
    )
    table = AcidTable.forName(lab.spark, t)
    with lab.settings(spark__sql__parser__escapedStringLiterals=escaped):
        table.update("id = 1", columns)
        assert lab.rows(t) == [(1, *STRINGS)]
        source = lab.spark.createDataFrame([(1,), (2,)], "k int").alias("s")
        merge = table.merge(source, "id = s.k").whenMatchedUpdate(
            F.col("c1") == "it's", {"c2": F.lit(STRINGS[1])}
        )
        merge.whenNotMatchedInsert(values={"id": "s.k", **columns}).execute()
        assert lab.rows(t) == [
            (1, *STRINGS[:2], STRINGS[1], *STRINGS[3:]),
            (2, *STRINGS),
        ]
        assert table.delete(F.col("c3") == "a\\b").collect() == [(2, 2)]


def test_parameters_are_stored_as_they_are(lab: Lab) -> None:
    t = lab.create("id int, v string")
    for text in STRINGS:
        assert lab.sql("SELECT :v AS v", args={"v": text}) == [(text,)]
    lab.sql(f"INSERT INTO {t} VALUES (1, ?)", args=["${env:PATH}"])
    assert lab.rows(t) == [(1, "${env:PATH}")]


@pytest.mark.repeated
def test_columns_of_every_type_are_stored_as_they_are(lab: Lab) -> None:
    values: dict[str, tuple[str, Any]] = {
        "b": ("boolean", True),
        "ti": ("tinyint", -128),
        "i": ("int", -(2**31)),
        "l": ("bigint", 2**63 - 1),
        "f": ("float", 1.5),
        "d": ("double", 1e-300),
        "inf": ("double", float("-inf")),
        "n": ("decimal(38,10)", Decimal("-12345678901234567890.0123456789")),
        "day": ("date", date(1582, 10, 15)),
        "ts": ("timestamp", datetime(1969, 12, 31, 23, 59, 58, 999999)),  # noqa: DTZ001 - a wall clock
        "bin": ("binary", bytearray(b"\x00'\\\xff")),
        "arr": ("array<string>", ["it's", "a\\b", "${env:PATH}"]),
        "a b": ("int", 1),
        "x.y": ("int", 2),
        "sel``ect": ("string", "q"),
    }
    t = lab.create(
        "id int, nothing string, at array<struct<k: int, v: string>>, m map<string, date>, "
        + ", ".join(f"`{name}` {kind}" for name, (kind, _) in values.items())
    )
    table = AcidTable.forName(lab.spark, t)
    literals = {
        f"`{name}`": F.lit(value).cast(kind) if kind in ("tinyint", "float") else F.lit(value)
        for name, (kind, value) in values.items()
    }
    others = {
        "nothing": F.lit(None),
        "at": F.array(F.struct(F.lit(1).alias("k"), F.lit("v'").alias("v"))),
        "m": F.create_map(F.lit("k\\"), F.lit(date(2024, 2, 29))),
    }
    source = lab.spark.range(1, 2)
    table.merge(source, "false").whenNotMatchedInsert(
        values={"id": F.lit(1), **others, **literals}
    ).execute()
    expected = (1, None, [(1, "v'")], {"k\\": date(2024, 2, 29)}, *(v for _, v in values.values()))
    assert lab.rows(t) == [expected]
    table.update(set={**others, **literals})
    assert lab.rows(t) == [expected]
    assert table.delete(F.col("`a b`") + F.col("`x.y`") == 3).collect() == [(1, 1)]


@pytest.mark.slow
def test_names_with_dots_backticks_and_braces(lab: Lab) -> None:
    t = lab.create("`a b` int, `{c}` int, `d.e` int, s struct<x: int, `y z`: int>")
    lab.insert(t, "(1, 2, 3, named_struct('x', 4, 'y z', 5))")
    table = AcidTable.forName(lab.spark, t).alias("my {table}")
    table.update(
        F.col("`my {table}`.`a b`") == 1, {"`{c}`": F.col("`{c}`") + 10, "s.`y z`": "s.x + `d.e`"}
    )
    source = lab.spark.createDataFrame([(1, 7)], "`a b` int, `{k}` int").alias("the {source}")
    merge = table.merge(source, "`my {table}`.`a b` = `the {source}`.`a b`")
    merge.whenMatchedUpdate(set={"`d.e`": F.col("`{k}`"), "s.x": "`{c}`"}).execute()
    assert lab.rows(t) == [(1, 12, 7, (12, 7))]
