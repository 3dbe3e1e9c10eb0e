"""Tests of the rules by which a result is a failure, and of its report."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tpcds_bench import maintenance, queries
from tpcds_bench.check import AFFECTED, Comparison, Mismatch, affected_mismatch
from tpcds_bench.data import Dataset
from tpcds_bench.fingerprint import Difference
from tpcds_bench.product import Layout
from tpcds_bench.queries import QueryResult, Verdict
from tpcds_bench.report import markdown

DATA = Dataset(path=Path(), scale=0.01, queries={}, columns={})


def query_result(number: int, *, flat: Verdict, duckdb: Verdict) -> QueryResult:
    return QueryResult(query=number, rows=1, duel=None, flat=flat, duckdb=duckdb, note="")


def test_a_mismatch_is_reported_with_step_table_and_column() -> None:
    difference = Difference(
        column="ss_quantity", measure="sum", expected=Decimal(7), actual=Decimal(8)
    )
    mismatch = Mismatch(table="store_sales", difference=difference)
    result = maintenance.StepResult(
        step="UPDATE 1 %",
        seconds=1,
        check_seconds=2,
        affected=3,
        tables=(Comparison(table="store_sales", rows=4, mismatches=(mismatch,)),),
        layouts=(Layout(bases=1, deltas=2, delete_deltas=3),),
        mismatches=(mismatch,),
    )
    lines = markdown(maintenance.sections(DATA, [result])).splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    assert ["UPDATE 1 %", "1", "2", "3", "4", "1 + 2 + 3"] in [row[:6] for row in cells]
    assert ["UPDATE 1 %", "store_sales", "ss_quantity", "sum", "7", "8"] in cells


@pytest.mark.parametrize("actual", [4, 0, None])
def test_a_wrong_count_of_affected_rows_is_a_mismatch(actual: int | None) -> None:
    (mismatch,) = affected_mismatch("t", 5, actual)
    assert (mismatch.table, mismatch.difference.column) == ("t", AFFECTED)
    assert affected_mismatch("t", 5, 5) == ()


@pytest.mark.parametrize(
    ("flat", "duckdb", "passes"),
    [
        (Verdict.EQUAL, Verdict.EQUAL, True),
        (Verdict.EQUAL, Verdict.EQUAL_REWRITTEN, True),
        (Verdict.EQUAL, Verdict.DIFFERENT, False),
        (Verdict.DIFFERENT, Verdict.EQUAL, False),
        (Verdict.ERROR, Verdict.ERROR, False),
    ],
)
def test_verdict_of_a_query(flat: Verdict, duckdb: Verdict, *, passes: bool) -> None:
    good = query_result(1, flat=Verdict.EQUAL, duckdb=Verdict.EQUAL)
    assert queries.passed([good, query_result(2, flat=flat, duckdb=duckdb)]) is passes


def test_more_rewrites_than_allowed_fail() -> None:
    rewritten = [
        query_result(number, flat=Verdict.EQUAL, duckdb=Verdict.EQUAL_REWRITTEN)
        for number in range(6)
    ]
    assert queries.passed(rewritten[:5])
    assert not queries.passed(rewritten)
