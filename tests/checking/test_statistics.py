"""Tests of the number of rows in the metastore against that of the files."""

from __future__ import annotations

from dataclasses import replace

import pytest

from acidsql.checking.statistics import analyzed_problems, is_accurate, statistics_problems
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.table_statistics import Statistics

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


def test_rows_of_analyze_are_compared_if_they_are_current_and_seen() -> None:
    seen = ValidWriteIdList.from_string("d.t:4:9223372036854775807::")
    told = Statistics(partition=None, size=9, files=1, rows=3, write_id=4)
    (found,) = analyzed_problems("file:/t", told, seen, 2)
    assert found.detail == "the metastore says that there are 3 rows, the files have 2"
    for analyzed in (
        None,
        replace(told, rows=2),
        replace(told, rows=None),
        replace(told, is_current=False),
        replace(told, write_id=5),
    ):
        assert list(analyzed_problems("file:/t", analyzed, seen, 2)) == []
    assert list(analyzed_problems("file:/t", told, seen, None)) == []
