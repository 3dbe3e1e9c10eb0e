"""Chart of what a run used over time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from tests.concurrency.resources import Sample

_PANELS: Sequence[tuple[str, Callable[[str], bool], bool]] = (
    ("memory of processes, MiB", lambda name: name.startswith("memory"), False),
    ("heap in use at rest, MiB", lambda name: name.startswith("heap"), True),
    ("threads", lambda name: name.startswith("threads"), False),
    ("Java objects held by Python at rest", lambda name: name.startswith("JVM references"), True),
    (
        "open transactions, leases, locks",
        lambda name: name in ("open writers", "leases", "rows of locks"),
        False,
    ),
    (
        "directories",
        lambda name: name in ("directories", "staging and holding"),
        False,
    ),
    ("metastore, KiB", lambda name: name.startswith("metastore"), False),
    (
        "rows in the metastore",
        lambda name: (
            name
            in (
                "rows of txns",
                "rows of write_ids",
                "rows of write_set",
                "rows of forgotten_aborts",
            )
        ),
        False,
    ),
)


_POINTS = 240  # of a line, beside those at rest


def draw(samples: Sequence[Sample], picture: Path) -> None:
    """Draw a panel for each kind of resource."""
    import matplotlib as mpl  # noqa: PLC0415 - takes half a second
    from matplotlib.figure import Figure  # noqa: PLC0415 - the same

    step = len(samples) // _POINTS + 1
    samples = [s for place, s in enumerate(samples) if s.at_rest or place % step == 0]
    with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": "soak", "font.size": 8}):
        figure = Figure(figsize=(9, 9), layout="constrained")
        for axes, (title, belongs, at_rest) in zip(
            figure.subplots(4, 2).flat, _PANELS, strict=True
        ):
            chosen = [s for s in samples if s.at_rest or not at_rest]
            for name in sorted({n for s in chosen for n in s.values if belongs(n)}):
                points = [(s.seconds / 60, s.values[name]) for s in chosen if name in s.values]
                label = name.removeprefix("rows of ").rpartition(" of ")[2]
                axes.plot(*zip(*points, strict=True), label=label, linewidth=0.9)
            axes.set_title(title, fontsize=9)
            axes.set_ylim(bottom=0)
            axes.spines[["top", "right"]].set_visible(False)
            if chosen:
                axes.legend(fontsize=7, frameon=False)
        figure.supxlabel("minutes", fontsize=8)
        figure.savefig(picture, metadata={"Date": None})
