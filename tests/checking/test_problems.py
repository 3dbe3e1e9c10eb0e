"""Tests of the list of problems."""

from __future__ import annotations

import re

import pytest

from acidsql.checking.problems import KINDS, Kind, Problem, RowId, Severity, by_severity


@pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))
def test_a_remedy_is_a_sentence(kind: Kind) -> None:
    assert re.fullmatch(r"[A-Z_][^.]*(?:\.[0-9a-z][^.]*)*\.", kind.remedy), kind.remedy


@pytest.mark.parametrize("name", KINDS)
def test_a_name_is_stable_and_of_capitals(name: str) -> None:
    assert re.fullmatch(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+", name)


def test_errors_come_first() -> None:
    names = ["ABORTED_DIRECTORY", "FOREIGN_FILE", "EMPTY_FILE"]
    problems = [Problem(name=name, path="p", detail="") for name in names]
    found = [problem.kind.severity for problem in sorted(problems, key=by_severity)]
    assert found == [Severity.ERROR, Severity.WARNING, Severity.INFO]


def test_a_row_id_is_shown_as_by_hive() -> None:
    assert str(RowId(1, 536870912, 7)) == '{"writeid":1,"bucketid":536870912,"rowid":7}'
