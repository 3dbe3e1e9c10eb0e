"""Tests of the tour, as ``scripts/demo`` runs it, and of its picture."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from acidsql.repl import demo
from acidsql.repl.runner import Cell, Result

_ROOT = Path(__file__).parents[2]
_SECONDS = 600


def result(columns: dict[str, Cell]) -> Result:
    return Result(
        columns=tuple(columns),
        numeric=tuple(isinstance(cell, int) for cell in columns.values()),
        rows=(tuple(columns.values()),),
        truncated=False,
    )


def make(root: Path, *files: str) -> None:
    for name in files:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()


def test_tree_is_aligned_and_says_what_directories_hold(tmp_path: Path) -> None:
    table = tmp_path / "t"
    make(
        table,
        "base_0000002_v0000007/bucket_00000",
        "delta_0000003_0000003_0001/bucket_00000",
        "delta_0000003_0000003_0001/_orc_acid_version",
        "delete_delta_0000003_0000003_0000/bucket_00001",
        "delta_0000004_0000009_v0000012/bucket_00000",
    )
    assert list(demo.tree(table)) == [
        "t/",
        "├── base_0000002_v0000007/               all rows up to write id 2",
        "│   └── bucket_00000",
        "├── delete_delta_0000003_0000003_0000/   rows deleted by write id 3, statement 0",
        "│   └── bucket_00001",
        "├── delta_0000003_0000003_0001/          rows written by write id 3, statement 1",
        "│   ├── _orc_acid_version",
        "│   └── bucket_00000",
        "└── delta_0000004_0000009_v0000012/      rows written by write ids 4 to 9",
        "    └── bucket_00000",
    ]


def test_tree_of_an_empty_table_is_its_name(tmp_path: Path) -> None:
    assert list(demo.tree(tmp_path)) == [f"{tmp_path.name}/"]


def test_outcome_is_the_counts_or_the_states() -> None:
    counts = result({"num_affected_rows": 3, "num_updated_rows": 3})
    assert demo.outcome(counts) == "num_affected_rows = 3, num_updated_rows = 3"
    compaction = result({"compactionid": 1, "type": "minor", "state": "succeeded"})
    assert demo.outcome(compaction) == "minor compaction: succeeded"
    assert demo.outcome(Result(columns=(), numeric=(), rows=(), truncated=False)) == ""


def test_steps_fit_a_terminal() -> None:
    lines = [line for step in demo.STEPS for line in f"{step.text};\n{step.remark}".splitlines()]
    assert max(map(len, lines)) <= 80


@pytest.mark.repeated
@pytest.mark.spark
def test_demo_shows_every_kind_of_change(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "acidsql", "demo"],
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(_ROOT), "TMPDIR": str(tmp_path)},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    steps = re.split(rf"^── \d of {len(demo.STEPS)} ─+$", done.stdout, flags=re.MULTILINE)[1:]
    assert [step.strip().partition(" ")[0] for step in steps] == [
        "CREATE", "INSERT", "UPDATE", "DELETE", "CREATE", "MERGE", "ALTER", "ALTER",
    ]  # fmt: skip
    _, inserted, updated, deleted, _, merged, minor, major = steps

    assert "num_affected_rows = 4, num_inserted_rows = 4" in inserted
    assert "delta_0000001_0000001_0000/   rows written by write id 1, statement 0" in inserted

    assert "num_affected_rows = 1, num_updated_rows = 1" in updated
    assert re.search(r"\| \{2, 536870912, 0\} \| +2 \| Tom +\| +7000 \|", updated)
    assert "├── delete_delta_0000002_0000002_0000/   rows deleted by write id 2" in updated
    assert "└── delta_0000002_0000002_0000/          rows written by write id 2" in updated

    assert "num_affected_rows = 1, num_deleted_rows = 1" in deleted
    assert "Paul" not in deleted

    counts = "num_updated_rows = 2, num_deleted_rows = 1, num_inserted_rows = 1"
    assert f"num_affected_rows = 4, {counts}" in merged
    rows = re.findall(r"\| (\{.*?\}) \| +(\d) \| (\w+) +\| +(\d+) \|", merged)
    assert [row[1:] for row in rows] == [
        ("2", "Tom", "7500"), ("3", "Kate", "6100"), ("4", "Mary", "9000"),
    ]  # fmt: skip

    assert "minor compaction: succeeded" in minor
    directories = re.findall(r"── (\w*delta_\w+)/", minor)
    assert [re.sub(r"_v\d{7}$", "", name) for name in directories] == [
        "delete_delta_0000001_0000004", "delta_0000001_0000004",
    ]  # fmt: skip
    assert "major compaction: succeeded" in major
    assert re.search(r"employee/\n└── base_0000004_v\d{7}/   all rows up to write id 4\n", major)
    for compacted in (minor, major):
        assert re.findall(r"\| (\{.*?\}) \| +(\d) \| (\w+) +\| +(\d+) \|", compacted) == rows

    assert "Where to go next" in done.stdout
    assert not re.search(r"\b(WARN|ERROR)\b", done.stderr)
    assert not list(tmp_path.iterdir()), "the demonstration leaves nothing behind"
