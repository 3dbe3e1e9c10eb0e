"""Reports: Markdown for people, JSON for programs."""

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

if TYPE_CHECKING:
    from pathlib import Path

Cell = str | int | float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A part of a report.

    Args:
        title: heading.
        text: paragraph under the heading; may be empty.
        headers: column headings of the table.
        rows: the table; none is printed when it is empty.
    """

    title: str
    text: str = ""
    headers: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()


def environment(scale: float) -> str:
    """Return one sentence on what a report was made with."""
    return (
        f"Scale factor {scale:g}, PySpark {pyspark.__version__},"
        f" Python {platform.python_version()}, {os.cpu_count()} processors."
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


def write(output: Path, name: str, sections: Sequence[Section], payload: object) -> None:
    """Write ``<name>.md`` and ``<name>.json`` into a directory, creating it when missing."""
    output.mkdir(parents=True, exist_ok=True)
    (output / f"{name}.md").write_text(markdown(sections))
    (output / f"{name}.json").write_text(json.dumps(payload, indent=2, default=_plain) + "\n")


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
