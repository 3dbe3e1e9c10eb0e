"""Tests of the report over fault campaigns."""

from __future__ import annotations

from collections.abc import Iterator

from tests.faults.campaign import Family, Fault, Options, missing, report, violations


def _none(_: Options) -> Iterator[Fault]:
    yield from ()


KILLS = Family(
    name="kills", summary="", run=_none, needed={("commit", "INSERT"): 2, ("commit", "DELETE"): 1}
)
FAULTS = [
    Fault(family="kills", step="commit", statement="INSERT", seed=1),
    Fault(family="kills", step="commit", statement="INSERT", seed=2, struck=False),
    Fault(family="kills", step="rename", statement="DELETE", seed=3, violation="a row is lost"),
]


def test_a_fault_that_came_too_late_is_no_hit() -> None:
    assert missing(KILLS, FAULTS) == {("commit", "INSERT"): 1, ("commit", "DELETE"): 1}


def test_faults_of_other_families_are_no_hits() -> None:
    other = Family(name="pauses", summary="", run=_none, needed={("commit", "INSERT"): 1})
    assert missing(other, FAULTS) == {("commit", "INSERT"): 1}


def test_the_report_counts_hits_and_tells_violations() -> None:
    assert report(FAULTS).splitlines() == [
        "kills  DELETE INSERT all",
        "commit      0      1   1",
        "rename      1      0   1",
        "all         1      1   2",
        "",
        "3 faults, 2 of them struck, 1 violations",
        "",
        "VIOLATION kills --seed 3 (rename, DELETE): a row is lost",
    ]


def test_violations_are_those_with_one() -> None:
    assert [fault.seed for fault in violations(FAULTS)] == [3]
