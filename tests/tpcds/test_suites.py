"""The suites as users start them, in processes of their own: each wants its own Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tpcds_bench.script import PARTITIONED, TABLES

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.tpcds, pytest.mark.spark]


def run_suite(data: Dataset, output: Path, suite: str, *options: str) -> Any:
    """Run a suite at the scale of ``data`` and return its results."""
    command = (
        *(sys.executable, "-m", "tpcds_bench", "--data", str(data.path.parent)),
        *("--output", str(output), "--driver-memory", "2g", suite),
        *("--scale", f"{data.scale:g}", *options),
    )
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=800
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    return json.loads((output / f"{suite}.json").read_text())


def test_maintenance_equals_duckdb_after_every_step(data: Dataset, tmp_path: Path) -> None:
    results = run_suite(data, tmp_path, "maintenance")
    assert results[0]["step"] == "load"
    assert len(results) == 18
    for result in results:
        assert result["mismatches"] == []
        assert {table["table"] for table in result["tables"]} == {*TABLES, PARTITIONED}


def test_queries_equal_flat_orc_and_duckdb(data: Dataset, tmp_path: Path) -> None:
    """A CTE, INTERSECT, ROLLUP with windows, a correlated subquery, quoted aliases, a rewrite."""
    numbers = (2, 14, 36, 41, 50, 66, 97)
    options = [option for number in numbers for option in ("--only", str(number))]
    results = run_suite(data, tmp_path, "queries", *options)
    assert [(r["query"], r["flat"], r["duckdb"]) for r in results] == [
        (number, "equal", "equal after rewrite" if number == 66 else "equal") for number in numbers
    ]


def test_cost_measures_every_case(data: Dataset, tmp_path: Path) -> None:
    results = run_suite(data, tmp_path, "cost", "--rounds", "1")
    assert [result["name"] for result in results] == [
        "count(*)",
        "max of all columns",
        "join with date_dim",
        "INSERT ... SELECT",
        "UPDATE 1 %",
        "DELETE 1 %",
        "UPDATE of one row of 1000",
    ]
    assert all(len(result["duel"]["subject"]) == 1 for result in results)


@pytest.mark.parametrize(
    ("suite", "options", "names"),
    [
        (
            "deltas",
            ("--only", "base + 5 deletes + 5 inserts: max of all columns"),
            [
                "base + 5 deletes + 5 inserts: max of all columns",
                "base + 5 deletes + 5 inserts: max of all columns of 30 days",
                "base + 5 deletes + 5 inserts: max of all columns of 0.1 %",
            ],
        ),
        (
            "changes",
            ("--only", "MERGE", "--only", "of one ticket"),
            ["UPDATE of one ticket", "DELETE of one ticket", "MERGE of 1.7 % with all branches"],
        ),
        ("compaction", ("--only", "minor"), ["minor, four inserts and two deletes"]),
    ],
)
def test_suites_of_ratios_draw_what_they_measured(
    data: Dataset, tmp_path: Path, suite: str, options: tuple[str, ...], names: list[str]
) -> None:
    results = run_suite(data, tmp_path, suite, "--rounds", "1", *options)
    assert [result["name"] for result in results] == names
    drawn = sorted(path.name for path in tmp_path.glob("*.svg"))
    assert drawn == ([f"{suite}.svg"] if suite != "changes" else ["changes-1.svg", "changes-2.svg"])


def test_decay_reads_after_each_round_of_changes(data: Dataset, tmp_path: Path) -> None:
    results = run_suite(data, tmp_path, "decay", "--rounds", "1", "--maintenance", "1")
    assert [len(result["subject"]) for result in results] == [1, 1]
