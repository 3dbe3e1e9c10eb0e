"""Draw the costs of docs/performance.md as docs/images/costs.svg: ``python scripts/draw_costs.py``.

The first table of the page says what is drawn; a test compares its figures with the picture's.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

_ROOT = Path(__file__).parents[1]
PAGE = _ROOT / "docs" / "performance.md"
PICTURE = _ROOT / "docs" / "images" / "costs.svg"
_ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| (\d+\.\d+)[^|]*\|$", re.MULTILINE)
_SETUP = re.compile(r"^`cost` at (.+?)\s+median", re.DOTALL | re.MULTILINE)
_CHEAPER, _DEARER = "#3f7d3a", "#c2702a"


class Cost(NamedTuple):
    """A row of the table: a task, what it is compared with, and the ratio of wall times."""

    task: str
    against: str
    ratio: float


def costs(page: str) -> list[Cost]:
    """Return the rows of the table of costs."""
    rows = _ROW.findall(page)
    return [
        Cost(task.replace("`", ""), other.replace("`", ""), float(n)) for task, other, n in rows
    ]


def setup(page: str) -> str:
    """Return what the costs were measured on."""
    found = _SETUP.search(page)
    if found is None:
        raise ValueError(f"{PAGE} does not say what the costs were measured on: '`cost` at …'")
    return " ".join(found[1].split()).rstrip(",")


def draw(page: str, picture: Path) -> None:
    """Draw the costs of a page, a bar for each, with a line where both sides cost the same."""
    # Tests import this module only for its figures.
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    rows = costs(page)
    places = range(len(rows))
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "costs", "font.size": 9}):
        figure = Figure(figsize=(8.5, 3.6), layout="constrained")
        axes = figure.subplots()
        colours = [_DEARER if row.ratio > 1 else _CHEAPER for row in rows]
        axes.barh(places, [row.ratio for row in rows], color=colours, height=0.6)
        axes.axvline(1, color="#334155", linewidth=1)
        for place, row in zip(places, rows, strict=True):
            axes.annotate(
                f"{row.ratio:.2f}",
                (row.ratio, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.5},
            )
        axes.set_yticks(list(places), [f"{row.task}\nbeside {row.against}" for row in rows])
        axes.invert_yaxis()
        axes.spines[["top", "right"]].set_visible(False)
        axes.set_xlim(0, max(row.ratio for row in rows) * 1.15)
        axes.set_xlabel("wall time; 1 is what the other side takes")
        figure.suptitle(f"TPC-DS, {setup(page)}", fontsize=9)
        figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    draw(PAGE.read_text("utf-8"), PICTURE)
