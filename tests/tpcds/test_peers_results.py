"""Tests of the results of the comparison with other engines: ratios, verdicts and report."""

from __future__ import annotations

import pytest

from tpcds_bench.measure import Sample
from tpcds_bench.peers.report import sections
from tpcds_bench.peers.results import (
    Cost,
    Failure,
    GroupResult,
    StepResult,
    difference,
    passed,
)
from tpcds_bench.peers.steps import Goal, Yardstick
from tpcds_bench.report import markdown


def costs(*cpu: float, size: int | None = None) -> tuple[Cost, ...]:
    return tuple(
        Cost(sample=Sample(wall=2 * seconds, cpu=seconds), written=size) for seconds in cpu
    )


def result(goal: Goal | None = None, **found: tuple[Cost, ...]) -> StepResult:
    return StepResult(name="step", goal=goal, costs=found)


def group(*steps: StepResult, **changed: object) -> GroupResult:
    values = {
        "pyspark": "4.0.5",
        "python": "3.11.7",
        "engines": ("acidsql", "orc", "delta"),
        "steps": steps,
        "differences": (),
        "failures": (),
    }
    return GroupResult(**{**values, **changed})  # type: ignore[arg-type]  # the test's own


def test_ratios_are_of_medians_and_to_the_best_peer() -> None:
    found = result(
        Goal(limit=0.5, against=Yardstick.PEER),
        acidsql=costs(1, 2, 9),
        orc=costs(8),
        delta=costs(5, 4, 3),
        iceberg=costs(5),
    )
    assert found.best_peer == "delta"
    assert found.ratio("delta") == pytest.approx(0.5)
    assert found.ratio("orc") == pytest.approx(0.25)
    assert found.met is True


def test_a_goal_may_be_against_flat_orc() -> None:
    goal = Goal(limit=1.05, against=Yardstick.FLAT)
    assert str(goal) == "≤ 1.05 of flat ORC"
    assert result(goal, acidsql=costs(2.2), orc=costs(2), delta=costs(9)).met is False
    assert result(goal, acidsql=costs(2.1), orc=costs(2)).met is True


@pytest.mark.parametrize(
    "found",
    [
        result(None, acidsql=costs(1), orc=costs(1), delta=costs(1)),
        result(Goal(limit=1, against=Yardstick.PEER), acidsql=costs(1), orc=costs(1)),
        result(Goal(limit=1, against=Yardstick.FLAT), acidsql=costs(1), delta=costs(1)),
        result(Goal(limit=1, against=Yardstick.PEER), orc=costs(1), delta=costs(1)),
        result(Goal(limit=1, against=Yardstick.PEER), acidsql=costs(1), delta=costs(0)),
    ],
)
def test_without_goal_or_yardstick_there_is_no_verdict(found: StepResult) -> None:
    assert found.met is None


def test_flat_orc_is_right_where_engines_differ() -> None:
    assert difference("s", "round 1", "answer", {"acidsql": [1], "orc": [1], "delta": [1]}) is None
    found = difference("s", "round 1", "answer", {"acidsql": [1, "2"], "orc": [1], "hudi": [1]})
    assert found is not None
    assert (found.expected, found.found) == ("[1]", {"acidsql": "[1, '2']"})
    without = difference("s", "round 1", "answer", {"acidsql": [1], "delta": [2]})
    assert without is not None
    assert (without.expected, without.found) == ("[1]", {"delta": "[2]"})
    assert without.without({"delta"}) is None


def test_a_difference_and_a_failure_are_errors_and_a_missed_goal_is_none() -> None:
    missed = result(Goal(limit=0.1, against=Yardstick.FLAT), acidsql=costs(1), orc=costs(1))
    assert passed([group(missed)])
    failure = Failure(engine="delta", when="start", step="", message="no jar")
    differs = difference("s", "round 1", "answer", {"orc": [1], "delta": [2]})
    assert not passed([group(missed), group(failures=(failure,))])
    assert not passed([group(differences=(differs,))])


def test_the_report_has_figures_ratios_and_verdicts() -> None:
    goal = Goal(limit=0.7, against=Yardstick.PEER)
    found = result(
        goal,
        acidsql=costs(1, 2, 3, size=2**20),
        orc=costs(4, 4, 4, size=2**22),
        delta=costs(2, 2, 2, size=2**21),
    )
    lines = markdown(sections(1, [group(found)])).splitlines()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in lines
        if line.startswith("| step ")
    ]
    assert "## Processor time on PySpark 4.0.5" in lines
    assert [
        "step",
        "2.00 (1.00 to 3.00)",
        "4.00 (4.00 to 4.00)",
        "2.00 (2.00 to 2.00)",
        "1.00",
        "0.50",
        "≤ 0.7 of best peer",
        "MISSED",
    ] in rows
    assert ["step", "1.00", "4.00", "2.00"] in rows
    (chart,) = [s.chart for s in sections(1, [group(found)]) if s.chart is not None]
    assert list(chart.bars) == [("step ÷ best peer", 1.0, 0.7)]


def test_the_report_begins_with_problems() -> None:
    failure = Failure(engine="hudi", when="start", step="", message="no jar")
    differs = difference("MERGE", "round 1", "answer", {"orc": [1], "delta": [2]})
    found = group(engines=("orc", "delta", "hudi"), failures=(failure,), differences=(differs,))
    first, *_ = sections(1, [found])
    assert first.title == "PROBLEMS on PySpark 4.0.5"
    assert list(first.rows) == [
        ("start", "", "Hudi", "failed: no jar"),
        ("round 1", "MERGE", "Delta Lake", "answer: [2], expected [1]"),
    ]
