"""Progress bar of a statement, in the output of its cell."""

from __future__ import annotations

import sys
from typing import Any

from IPython.core.interactiveshell import InteractiveShell
from IPython.display import display
from tqdm import tqdm

from acidsql.repl.runner import BAR, Progress, TerminalBar


def progress_of(shell: InteractiveShell) -> Progress | None:
    """Return a bar for a notebook or a terminal; None if the output is neither."""
    if getattr(shell, "kernel", None) is not None:
        return NotebookBar()
    return TerminalBar() if sys.stderr.isatty() else None


class NotebookBar:
    """Progress bar that front ends draw, in HTML or as text, and that disappears at the end."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._drawn: dict[str, str] = {}

    def show(self, completed: int, known: int, seconds: float) -> None:
        """Draw the bar, if it has changed."""
        drawn = _bundle(completed, known, int(seconds))
        if self._handle is None:
            self._handle = display(drawn, raw=True, display_id=True)
        elif drawn != self._drawn:
            self._handle.update(drawn, raw=True)
        self._drawn = drawn

    def clear(self) -> None:
        """Remove the bar, but keep the rest of the cell's output, such as warnings."""
        if self._handle is not None:
            self._handle.update({"text/plain": "", "text/html": ""}, raw=True)
            self._handle = None


def _bundle(completed: int, known: int, seconds: int) -> dict[str, str]:
    """Return the bar in the formats that front ends support."""
    elapsed = tqdm.format_interval(seconds)
    return {
        "text/plain": tqdm.format_meter(completed, known, seconds, ncols=60, bar_format=BAR),
        "text/html": (
            f'<progress value="{completed}" max="{known}"></progress> '
            f"{completed} of {known} tasks, {elapsed}"
        ),
    }
