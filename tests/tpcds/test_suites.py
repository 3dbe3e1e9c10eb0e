"""Tests of the suites as users start them, in processes of their own, each with its own Spark."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tpcds_bench.script import PARTITIONED, TABLES

if TYPE_CHECKING:
    from tpcds_bench.data import Dataset

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.tpcds, pytest.mark.spark]


def run_suites(data: Dataset, output: Path, suites: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Run suites in one process at the scale of ``data``; the results of each.

    Args:
        suites: the options of each suite.
    """
    command = [sys.executable, "-m", "tpcds_bench", "--data", str(data.path.parent)]
    command += ["--output", str(output), "--driver-memory", "2g"]
    for suite, options in suites.items():
        command += [suite, "--scale", f"{data.scale:g}", *options]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=800
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr[-4000:]}"
    return {suite: json.loads((output / f"{suite}.json").read_text()) for suite in suites}


def test_maintenance_equals_duckdb_after_every_step(data: Dataset, tmp_path: Path) -> None:
    results = run_suites(data, tmp_path, {"maintenance": ()})["maintenance"]
    assert results[0]["step"] == "load"
    assert len(results) == 18
    for result in results:
        assert result["mismatches"] == []
        assert {table["table"] for table in result["tables"]} == {*TABLES, PARTITIONED}


def test_queries_equal_flat_orc_and_duckdb(data: Dataset, tmp_path: Path) -> None:
    """Check a CTE, INTERSECT, ROLLUP with windows, a correlated subquery, quoted aliases, a
    rewrite.
    """
    numbers = (2, 14, 36, 41, 50, 66, 97)
    options = ["--rounds", "1"]
    options += [option for number in numbers for option in ("--only", str(number))]
    results = run_suites(data, tmp_path, {"queries": options})["queries"]
    assert [(r["query"], r["flat"], r["duckdb"]) for r in results] == [
        (number, "equal", "equal after rewrite" if number == 66 else "equal") for number in numbers
    ]


def test_suites_of_ratios_draw_what_they_measured(data: Dataset, tmp_path: Path) -> None:
    one = ("--rounds", "1")
    deltas = "base + 5 deletes + 5 inserts: max of all columns"
    found = run_suites(
        data,
        tmp_path,
        {
            "cost": one,
            "deltas": (*one, "--only", deltas),
            "changes": (*one, "--only", "MERGE", "--only", "of one ticket"),
            "compaction": (*one, "--only", "minor"),
            "decay": (*one, "--maintenance", "1"),
            "arrow": one,
            "lower_bounds": one,
        },
    )
    decay, arrow = found.pop("decay"), found.pop("arrow")
    assert [result["name"] for result in arrow] == [
        "all columns",
        "three columns",
        "one row, all columns",
        "one row, three columns",
        "one row, in a new process",
    ]
    assert {suite: [result["name"] for result in own] for suite, own in found.items()} == {
        "cost": [
            "count(*)",
            "max of all columns",
            "join with date_dim",
            "INSERT ... SELECT",
            "UPDATE 1 %",
            "DELETE 1 %",
            "UPDATE of one row of 1000",
        ],
        "deltas": [deltas, f"{deltas} of 30 days", f"{deltas} of 0.1 %"],
        "changes": [
            "UPDATE of one ticket", "DELETE of one ticket", "MERGE of 1.7 % with all branches",
        ],
        "compaction": ["minor, four inserts and two deletes"],
        "lower_bounds": [
            "INSERT of all rows", "UPDATE of 1 %", "DELETE of 1 %", "MERGE of 1.7 %",
            "max of all columns, after changes", "max of all columns of 30 days, after changes",
            "major compaction, deletes in every stripe", "DELETE of one row of a small table",
        ],
    }  # fmt: skip
    assert all(len(r["duel"]["subject"]) == 1 for own in found.values() for r in own)
    assert [len(result["subject"]) for result in decay] == [1, 1]
    assert sorted(path.stem for path in tmp_path.glob("*.svg")) == [
        "changes-1", "changes-2", "compaction", "cost", "decay", "deltas", "lower_bounds",
    ]  # fmt: skip
