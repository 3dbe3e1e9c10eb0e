"""Reports are Markdown with one table a section, and JSON of the results."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from tpcds_bench.fingerprint import Difference
from tpcds_bench.report import Section, markdown, write

SECTIONS = (
    Section(title="First", text="Text.", headers=("a", "b"), rows=[("x|y\nz", 1.5), (None, 2)]),
    Section(title="Second"),
)


def test_markdown() -> None:
    assert markdown(SECTIONS).splitlines() == [
        "## First",
        "",
        "Text.",
        "",
        "| a      | b    |",
        "|--------|------|",
        r"| x\|y z | 1.50 |",
        "|        | 2    |",
        "",
        "## Second",
    ]


def test_files(tmp_path: Path) -> None:
    found = Difference(column="c", measure="sum", expected=Decimal("1.50"), actual=None)
    write(tmp_path / "new", "name", SECTIONS, [found])
    assert (tmp_path / "new" / "name.md").read_text() == markdown(SECTIONS)
    assert json.loads((tmp_path / "new" / "name.json").read_text()) == [
        {"column": "c", "measure": "sum", "expected": "1.50", "actual": None}
    ]
