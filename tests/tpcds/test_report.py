"""Reports are Markdown with one table a section, and JSON of the results."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path

from tpcds_bench.fingerprint import Difference
from tpcds_bench.report import Chart, Section, markdown, write

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


def test_charts_are_written_beside_the_tables(tmp_path: Path) -> None:
    chart = Chart(unit="ratio", bars=[("count(*)", 1.25, 1.2), ("max", 0.5, None)])
    sections = [Section(title="One", chart=chart), Section(title="None")]
    written = write(tmp_path, "suite", sections, {"a": 1})
    assert [path.name for path in written] == ["suite.md", "suite.json", "suite.svg", "suite.png"]
    assert (tmp_path / "suite.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "suite.svg").read_text()
    twice = write(tmp_path, "twice", [sections[0], sections[0]], {})
    assert [path.name for path in twice][2:] == [
        f"twice-{number}.{suffix}" for number in (1, 2) for suffix in ("svg", "png")
    ]
