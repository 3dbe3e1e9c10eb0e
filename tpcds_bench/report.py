"""Reports: Markdown for readers, JSON for programs."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass, is_dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pyspark
from cli_helpers.tabular_output import format_output
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from pathlib import Path

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Horizontal bars.

    Args:
        unit: quantity and unit of the values.
        bars: label, value and goal of each bar; None without a goal.
    """

    unit: str
    bars: Sequence[tuple[str, float, float | None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """Section of a report.

    Args:
        title: heading.
        text: paragraph under the heading; may be empty.
        headers: column headings of the table.
        rows: rows of the table; no table is printed if there are none.
        chart: chart of the figures, or None.
    """

    title: str
    text: str = ""
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    chart: Chart | None = None


def environment(
    scale: float,
    *,
    pyspark: str = pyspark.__version__,
    python: str = platform.python_version(),
) -> str:
    """Return one sentence on the environment of a report."""
    return (
        f"Scale factor {scale:g}, PySpark {pyspark}, Python {python}, {os.cpu_count()} processors."
    )


def markdown(sections: Sequence[Section]) -> str:
    """Return a report as Markdown."""
    parts: list[str] = []
    for section in sections:
        parts.append(f"## {section.title}")
        if section.text:
            parts.append(section.text)
        if section.rows:
            rows = [[_cell(cell) for cell in row] for row in section.rows]
            parts.append(
                "\n".join(
                    format_output(
                        rows,
                        section.headers,
                        format_name="github",
                        disable_numparse=True,
                        colalign=["left"] * len(section.headers),
                    )
                )
            )
    return "\n\n".join(parts) + "\n"


def write(output: Path, name: str, sections: Sequence[Section], payload: object) -> list[Path]:
    """Write ``<name>.md``, ``<name>.json`` and the charts, as SVG and PNG, into a directory.

    Returns:
        The files.
    """
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{name}.md").write_text(markdown(sections))
    (output / f"{name}.json").write_text(json.dumps(payload, indent=2, default=_plain) + "\n")
    written = [output / f"{name}.md", output / f"{name}.json"]
    drawn = [section for section in sections if section.chart is not None and section.chart.bars]
    for number, section in enumerate(drawn):
        stem = name if len(drawn) == 1 else f"{name}-{number + 1}"
        written += _draw(output / stem, section)
    return written


def _draw(stem: Path, section: Section) -> list[Path]:
    """Draw the chart of a section: bars, each with a mark at its goal."""
    chart = section.chart
    if chart is None:
        return []
    labels, values, goals = zip(*chart.bars, strict=True)
    places = range(len(labels))
    figure = Figure(figsize=(10, 1.2 + 0.35 * len(labels)), layout="constrained")
    axes = figure.subplots()
    axes.barh(places, values, color="#4c78a8", height=0.6)
    for place, goal in zip(places, goals, strict=True):
        if goal is not None:
            axes.plot([goal, goal], [place - 0.4, place + 0.4], color="#d62728", linewidth=2)
    for place, value in zip(places, values, strict=True):
        axes.annotate(f" {value:.2f}", (value, place), va="center")
    axes.set_yticks(list(places), labels)
    axes.invert_yaxis()
    axes.set_xlabel(f"{chart.unit} (red: the goal)" if any(goals) else chart.unit)
    axes.set_title(section.title)
    written = [stem.with_suffix(suffix) for suffix in (".svg", ".png")]
    for path in written:
        figure.savefig(path)
    return written


def _cell(value: Cell) -> str:
    if value is None:
        return ""
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return " ".join(text.split()).replace("|", "\\|")


def _plain(value: object) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    if isinstance(value, Decimal):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
