"""Tests of the record of what tests take, and of the report on it."""

from __future__ import annotations

from pathlib import Path

from tests.durations.report import BUDGETS, grown_tests, report
from tests.durations.times import (
    Lane,
    Recorded,
    Times,
    parse_table,
    read_lanes,
    table_of,
    write_lane,
)

LANE = Lane(
    name="hive",
    seconds=BUDGETS["hive"] * 1.3,
    tests=(
        Times(test="tests/a.py::test_a[1]", seconds=30.0, markers=("hive", "spark")),
        Times(test="tests/a.py::test_a[2]", seconds=20.0, markers=("hive",)),
        Times(test="tests/a.py::test_b", seconds=1.5),
        Times(test="tests/a.py::test_new", seconds=4.0, markers=("hive",)),
    ),
)


def test_a_lane_is_read_as_it_was_written(tmp_path: Path) -> None:
    write_lane(tmp_path / "durations", LANE)
    assert read_lanes(tmp_path / "durations") == [LANE]


def test_the_table_keeps_slow_functions_with_all_their_parameters() -> None:
    text = table_of([LANE])
    assert text.splitlines() == [
        "lane\tseconds\ttest",
        f"hive\t{LANE.seconds:.0f}\t",
        "hive\t50.0\ttests/a.py::test_a",
        "hive\t4.0\ttests/a.py::test_new",
    ]
    functions = {"tests/a.py::test_a": 50.0, "tests/a.py::test_new": 4.0}
    assert parse_table(text) == {"hive": Recorded(seconds=LANE.seconds, functions=functions)}


def test_grown_tests_are_those_that_take_longer_than_recorded() -> None:
    before = Recorded(seconds=100, functions={"tests/a.py::test_a": 42.0, "tests/a.py::gone": 9.0})
    assert grown_tests(LANE, before) == [
        ("tests/a.py::test_a", 8.0),
        ("tests/a.py::test_new", 4.0),
        ("tests/a.py::test_b", 1.5),
    ]


def test_the_report_warns_of_a_lane_far_above_its_budget() -> None:
    before = Recorded(seconds=100, functions={"tests/a.py::test_a": 42.0})
    lines = list(report([LANE], {"hive": before}))
    assert lines[-4:] == [
        f"WARNING: hive took {LANE.seconds:.0f} s, its budget is {BUDGETS['hive']:.0f} s",
        "   +8.0 s tests/a.py::test_a",
        "   +4.0 s tests/a.py::test_new",
        "   +1.5 s tests/a.py::test_b",
    ]
    assert "hive              3        54" in lines
    assert "   30.0 tests/a.py::test_a[1]" in lines


def test_the_report_does_not_warn_of_a_lane_a_little_above_its_budget() -> None:
    lane = Lane(name="hive", seconds=BUDGETS["hive"] * 1.2, tests=LANE.tests)
    assert not [line for line in report([lane], {}) if "WARNING" in line]
