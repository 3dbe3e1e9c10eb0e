"""Partition filters in SQLite, in Python and of a Hive Metastore."""

from __future__ import annotations

import json
import operator
import sqlite3
from collections.abc import Callable
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.metastore.partition_filter import (
    PartitionComparison,
    PartitionFilter,
    accepts,
    hive_filter,
    sqlite_condition,
)

_OPERATORS = {
    "=": operator.eq,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
Evaluate = Callable[..., list[list[str]]]
_NAMES = ["p", "day", "Q"]


def compare(ordinal: int, symbol: str, *values: int | str | date) -> PartitionComparison:
    return PartitionComparison(ordinal=ordinal, operator=symbol, values=values)


def accepted_by_sqlite(accepted: PartitionFilter, *partitions: list[str]) -> list[list[str]]:
    condition, parameters = sqlite_condition(accepted, "texts")
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE t (texts TEXT)")
        rows = [(json.dumps(texts),) for texts in partitions]
        connection.executemany("INSERT INTO t VALUES (?)", rows)
        query = f"SELECT texts FROM t WHERE {condition} ORDER BY rowid"
        return [json.loads(row[0]) for row in connection.execute(query, parameters)]


def accepted_by_python(accepted: PartitionFilter, *partitions: list[str]) -> list[list[str]]:
    return [values for values in partitions if accepts(accepted, values)]


both = pytest.mark.parametrize("evaluate", [accepted_by_sqlite, accepted_by_python])


@both
@given(
    texts=st.lists(st.integers(-300, 300).flatmap(lambda n: st.sampled_from(spellings(n)))),
    symbol=st.sampled_from(sorted(_OPERATORS)),
    constant=st.integers(-300, 300),
)
def test_no_number_that_meets_a_comparison_is_lost(
    evaluate: Evaluate, texts: list[str], symbol: str, constant: int
) -> None:
    kept = evaluate(((compare(0, symbol, constant),),), *([text] for text in texts))
    for text in texts:
        meets = _OPERATORS[symbol](int(text), constant)
        is_usual = text == str(int(text)) or text.lstrip("-0123456789") == ""
        assert ([text] in kept) >= meets
        assert ([text] in kept) <= (meets or not is_usual)


def spellings(number: int) -> list[str]:
    sign, digits = "-" * (number < 0), str(abs(number))
    return [
        f"{sign}{digits}",
        f"{sign}0{digits}",
        f" {sign}{digits} ",
        *([f"+{digits}"] * (number >= 0)),
    ]


@both
@given(
    texts=st.lists(st.text(alphabet="aAbZé€😀 '\"\\%", max_size=3)),
    symbol=st.sampled_from(sorted(_OPERATORS)),
    constant=st.text(alphabet="aAbZé€😀 '\"\\%", max_size=3),
)
def test_texts_compare_by_their_bytes(
    evaluate: Evaluate, texts: list[str], symbol: str, constant: str
) -> None:
    kept = evaluate(((compare(1, symbol, constant),),), *(["x", text] for text in texts))
    expected = [t for t in texts if _OPERATORS[symbol](t.encode(), constant.encode())]
    assert kept == [["x", text] for text in expected]


@both
def test_dates_that_are_written_otherwise_are_kept(evaluate: Evaluate) -> None:
    partitions = [["2024-02-01"], ["2024-2-1"], ["2023-12-31"], ["__HIVE_DEFAULT_PARTITION__"]]
    since = ((compare(0, ">=", date(2024, 1, 1)),),)
    kept = evaluate(since, *partitions)
    assert kept == [["2024-02-01"], ["2024-2-1"], ["__HIVE_DEFAULT_PARTITION__"]]


@both
def test_alternatives_and_conjuncts(evaluate: Evaluate) -> None:
    partitions = [["1", "a"], ["1", "b"], ["2", "a"], ["3", "c"], ["4", "a"]]
    accepted = (
        (compare(0, "=", 1, 2), compare(1, "=", "a")),
        (compare(0, ">", 3),),
    )
    assert evaluate(accepted, *partitions) == [["1", "a"], ["2", "a"], ["4", "a"]]


@both
@pytest.mark.parametrize("accepted", [(), ((),), ((compare(0, "=", 1),), ())])
def test_a_filter_that_says_nothing_accepts_all(
    evaluate: Evaluate, accepted: PartitionFilter
) -> None:
    assert evaluate(accepted, ["1"], ["2"]) == [["1"], ["2"]]
    assert hive_filter(accepted, _NAMES) is None


@pytest.mark.parametrize(
    ("accepted", "text"),
    [
        (((compare(0, "=", "a"),),), '((p = "a"))'),
        (
            ((compare(0, "=", "a", "b"), compare(1, "=", "c d")),),
            '((p = "a" or p = "b") and (day = "c d"))',
        ),
        (((compare(0, "=", "a"),), (compare(1, "=", "x"),)), '((p = "a")) or ((day = "x"))'),
        (((compare(0, "=", "a"), compare(1, "<", "x")),), '((p = "a"))'),
        (((compare(0, "=", "a"), compare(1, "=", 7)),), '((p = "a"))'),
        (((compare(0, "=", "a"),), (compare(1, "<", "x"),)), None),
        (((compare(0, "=", 7),),), None),
        (((compare(0, "=", 'a"b'),),), None),
        (((compare(0, "=", "a\\b"),),), None),
        (((compare(1, "=", date(2024, 1, 1)),),), None),
        (((compare(2, "=", "a"),),), None),
    ],
)
def test_filters_of_a_hive_metastore(accepted: PartitionFilter, text: str | None) -> None:
    assert hive_filter(accepted, _NAMES) == text
