"""Tests of the number of rows in the metastore against that of the files."""

from __future__ import annotations

import pytest

from acidsql.checking.statistics import is_accurate, statistics_problems

_ACCURATE = {"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true","COLUMN_STATS":{"id":"true"}}'}


@pytest.mark.parametrize(
    ("told", "expected"),
    [
        ('{"BASIC_STATS":"true"}', True),
        ('{"BASIC_STATS":"false"}', False),
        ("{}", False),
        ("true", False),
        ("{", False),
    ],
)
def test_statistics_that_hive_answers_from(told: str, expected: bool) -> None:
    assert is_accurate({"COLUMN_STATS_ACCURATE": told}) is expected


def test_another_number_of_rows_is_a_problem_if_it_counts_as_accurate() -> None:
    (found,) = statistics_problems("file:/t", {**_ACCURATE, "numRows": "3"}, 2)
    assert (found.name, found.path) == ("STALE_STATISTICS", "file:/t")
    assert found.detail == "the metastore says that there are 3 rows, the files have 2"
    for properties, rows in (
        ({**_ACCURATE, "numRows": "2"}, 2),
        ({**_ACCURATE, "numRows": "3"}, None),
        ({"numRows": "3"}, 2),
        (_ACCURATE, 2),
    ):
        assert list(statistics_problems("file:/t", properties, rows)) == []
