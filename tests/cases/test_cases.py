"""Tests of every DML case: rows, counts and conditions, as of Spark's row-level commands.

In the default tests are those that have ``quick``: one of each rule and of each condition.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession

import acidsql
from acidsql.syntax.lexer import quote
from acidsql.syntax.values import literal
from tests.limits import set_limits
from tests.product.conditions import condition_of

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "dml_cases.jsonl").read_text().splitlines()
]

pytestmark = pytest.mark.spark


def _parameters(cases: Iterable[dict[str, Any]]) -> Iterator[Any]:
    for case in cases:
        marks = [] if "quick" in case else [pytest.mark.repeated]
        yield pytest.param(case, id=case["id"], marks=marks)


@pytest.fixture
def session(spark: SparkSession, case: dict[str, Any]) -> Iterator[SparkSession]:
    """Lend the shared session to a case; its settings, views and tables are gone afterwards."""
    texts = [step["sql"] for step in case["setup"] if "sql" in step]
    settings = {key: spark.conf.get(key, None) for key in _SETTINGS} if _sets(texts) else {}
    yield spark
    for key, value in settings.items():
        spark.conf.set(key, value) if value is not None else spark.conf.unset(key)
    for name in [*_named(case, "view"), *re.findall(r"TEMP VIEW (\w+)", " ".join(texts))]:
        spark.catalog.dropTempView(name)
    for name in {*_named(case, "table"), *re.findall(r"CREATE TABLE (\w+)", " ".join(texts))}:
        acidsql.sql(spark, f"DROP TABLE IF EXISTS {name}")


# All that the cases set.
_SETTINGS = ("spark.sql.caseSensitive", "spark.sql.session.timeZone")


def _sets(texts: Iterable[str]) -> bool:
    return any(text.startswith("SET ") for text in texts)


def _named(case: dict[str, Any], kind: str) -> list[str]:
    return [step[kind] for step in case["setup"] if kind in step]


def test_every_condition_is_in_the_default_tests() -> None:
    def conditions(cases: Iterable[dict[str, Any]]) -> set[str]:
        return {str(c["expect"]) for c in cases if isinstance(c["expect"], dict)}

    assert conditions(CASES) == conditions(case for case in CASES if "quick" in case)


def test_settings_of_cases_are_known() -> None:
    texts = [step["sql"] for case in CASES for step in case["setup"] if "sql" in step]
    found = {text for text in texts if text.startswith("SET ")}
    assert found == {"SET spark.sql.caseSensitive=true", "SET TIME ZONE 'America/New_York'"}


def _version(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(".")[:2])


def _set_up(spark: SparkSession, step: dict[str, Any]) -> None:
    if "sql" in step:
        text = step["sql"]
        if text.startswith("CREATE TABLE") and "transactional" not in text:
            text += " STORED AS ORC TBLPROPERTIES ('transactional'='true')"
        acidsql.sql(spark, text)
    elif "view" in step:
        _rows(spark, step).createOrReplaceTempView(step["view"])
    else:
        columns = step["columns"]
        partitioned = (
            f" PARTITIONED BY ({step['partitioned_by']})" if "partitioned_by" in step else ""
        )
        acidsql.sql(
            spark,
            f"CREATE TABLE {step['table']} ({columns}){partitioned} STORED AS ORC "
            "TBLPROPERTIES ('transactional'='true')",
        )
        if step["rows"]:
            names = [field.name for field in _schema(spark, step["columns"]).fields]
            _rows(spark, step).createOrReplaceTempView("__rows")
            acidsql.sql(
                spark,
                f"INSERT INTO {step['table']} ({', '.join(map(quote, names))}) SELECT * "
                f"FROM __rows",
            )
            spark.catalog.dropTempView("__rows")


@cache
def _schema(spark: SparkSession, columns: str) -> Any:
    plain = spark.sql(f"SELECT from_json('{{}}', '{_plain(columns)}') AS r")
    return plain.schema["r"].dataType


def _plain(columns: str) -> str:
    text = re.sub(r"\bNOT NULL\b", "", columns, flags=re.IGNORECASE)
    text = re.sub(r"\bDEFAULT\s+('[^']*'|[^,]+)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\b(VAR)?CHAR\s*\(\d+\)", "STRING", text, flags=re.IGNORECASE)
    return text.replace("'", "\\'")


def _rows(spark: SparkSession, step: dict[str, Any]) -> DataFrame:
    schema = _schema(spark, step["columns"])
    parse = f"from_json(j, '{_plain(step['columns'])}') AS r"
    if not step["rows"]:
        return spark.sql("SELECT '' AS j WHERE false").selectExpr(parse).select("r.*")
    lines = [
        json.dumps(dict(zip(schema.names, row, strict=True)), ensure_ascii=False)
        for row in step["rows"]
    ]
    texts = ", ".join(f"({literal(line)})" for line in lines)
    return spark.sql(f"SELECT j FROM VALUES {texts} AS t(j)").selectExpr(parse).select("r.*")


def _plain_value(value: Any) -> Any:
    if isinstance(value, Row):
        return {k: _plain_value(v) for k, v in value.asDict().items()}
    if isinstance(value, list):
        return [_plain_value(v) for v in value]
    if isinstance(value, dict):
        return {str(_plain_value(k)): _plain_value(v) for k, v in value.items()}
    if isinstance(value, bool | int | float | str) or value is None:
        return value
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes | bytearray):
        return bytes(value).hex()
    return str(value)


def _comparable(value: Any) -> Any:
    if isinstance(value, list):
        return [_comparable(v) for v in value]
    if isinstance(value, dict):
        return {k: _comparable(v) for k, v in value.items()}
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return f"n{Decimal(str(value)).normalize():f}"
    try:
        return f"n{Decimal(value).normalize():f}"
    except ArithmeticError:
        return value


def _read(spark: SparkSession, text: str) -> list[str]:
    rows = acidsql.sql(spark, text).collect()
    return sorted(
        json.dumps(_comparable([_plain_value(v) for v in row]), sort_keys=True) for row in rows
    )


def _expected(rows: list[list[Any]]) -> list[str]:
    return sorted(json.dumps(_comparable(row), sort_keys=True) for row in rows)


# What Spark 3.5 calls a condition that was renamed since.
_OLD_NAMES = {"COLUMN_ALIASES_NOT_ALLOWED": "COLUMN_ALIASES_IS_NOT_ALLOWED"}
# Cases of a check that Spark 3.5 has not.
_NOT_IN_3_5 = {"merge-not-null-nested": "Spark 3.5 takes NULL for a NOT NULL field of a struct"}


def _fails_as(error: PySparkException, conditions: list[str], messages: list[str]) -> bool:
    """Return whether an error has one of the conditions, and each part of its message."""
    condition = condition_of(error)
    names = [*conditions, *(_OLD_NAMES[n] for n in conditions if n in _OLD_NAMES)]
    is_one = any(condition == name or condition.startswith(f"{name}.") for name in names)
    return is_one and all(message in str(error) for message in messages)


@pytest.mark.parametrize("case", list(_parameters(CASES)))
def test_case(session: SparkSession, case: dict[str, Any]) -> None:
    _check(session, case)


def _keeps_matches_only(case: dict[str, Any]) -> bool:
    text = case.get("statement", "").upper()
    return "MERGE" in text and "BY SOURCE" not in text


@pytest.mark.repeated
@pytest.mark.parametrize("case", list(_parameters(filter(_keeps_matches_only, CASES))))
def test_merge_into_a_large_target(
    session: SparkSession, case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, merge_shuffle_bytes=-1)
    _check(session, case)


def _check(session: SparkSession, case: dict[str, Any]) -> None:
    if _version(session.version) < _version(case.get("min_spark", "3.5")):
        pytest.skip(f"needs Spark {case['min_spark']}")
    if _version(session.version) < (4, 0) and case["id"] in _NOT_IN_3_5:
        pytest.skip(_NOT_IN_3_5[case["id"]])
    for step in case["setup"]:
        _set_up(session, step)
    check = case.get("check", "SELECT * FROM t")
    expected = case["expect"]
    if case["id"] == "merge-partition-empty-string":
        # Hive's layout keeps '' and NULL in one partition, which reads as NULL.
        expected = [[id_, None] for id_, _ in expected]
    if isinstance(expected, list):
        counts = acidsql.sql(session, case["statement"])
        assert _read(session, check) == _expected(expected)
        for kind, number in case.get("affected", {}).items():
            reported = counts.head().asDict().get(f"num_{kind}_rows", 0)
            assert reported == number, f"{kind}: {reported}, expected {number}"
        return
    readable = any(step.get("table") == "t" for step in case["setup"])
    before = _read(session, check) if readable else None
    with pytest.raises(PySparkException) as caught:
        acidsql.sql(session, case["statement"]).collect()
    error = caught.value
    assert _fails_as(error, expected["conditions"], expected.get("messages", [])), (
        f"{condition_of(error)}: {error}"
    )
    if readable:
        assert _read(session, check) == before
