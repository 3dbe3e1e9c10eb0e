"""Output of results to the terminal, to a pager or to a file."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import which
from typing import TextIO

from prompt_toolkit.utils import get_cwidth

_LESS = "less -SRXF"
# Lines of the screen that are reserved for the time and the next prompt.
_MARGIN = 3


class Output:
    """Destination of results.

    Args:
        screen: function that returns the size of the terminal; None if standard output is not a
            terminal.
    """

    def __init__(self, screen: Callable[[], os.terminal_size | None] = lambda: None) -> None:
        self._screen = screen
        self._file: TextIO | None = None

    @property
    def columns(self) -> int | None:
        """Width of the terminal; None if results do not go to a terminal."""
        screen = self._screen() if self._file is None else None
        return screen.columns if screen is not None else None

    def write(self, text: str, pager: str | None = None) -> None:
        """Write a result.

        Args:
            text: whole lines.
            pager: command that shows results larger than the terminal; None for no pager.
        """
        if self._file is not None:
            self._file.write(text)
            self._file.flush()
            return
        screen = self._screen()
        if pager is not None and screen is not None and not fits(text, screen):
            _show(text, pager)
            return
        sys.stdout.write(text)
        sys.stdout.flush()

    def write_all(self, chunks: Iterable[str], pager: str | None = None) -> None:
        """Write a result as it arrives; with a pager, write the complete result at the end.

        Args:
            chunks: texts of whole lines.
            pager: see ``write``.
        """
        if self.columns is not None and pager is not None:
            self.write("".join(chunks), pager)
            return
        for chunk in chunks:
            self.write(chunk)

    def redirect(self, file: Path | None) -> None:
        """Write further results to ``file``, whose content is replaced, or to standard output.

        Raises:
            OSError: the file cannot be opened, and the destination does not change; or closing the
                earlier file failed.
        """
        opened = None if file is None else file.open("w", encoding="utf-8")
        before, self._file = self._file, opened
        if before is not None:
            before.close()


def terminal() -> os.terminal_size | None:
    """Return the size of the terminal; None if standard output is not a terminal."""
    try:
        return os.get_terminal_size(sys.stdout.fileno())
    except (OSError, ValueError):  # no terminal, or a stream without a file
        return None


def fits(text: str, screen: os.terminal_size) -> bool:
    """Return whether ``text`` fits on one screen of a terminal."""
    return text.count("\n") <= screen.lines - _MARGIN and is_narrow(text, screen.columns)


def is_narrow(text: str, columns: int) -> bool:
    """Return whether no line of ``text`` is wider than ``columns`` characters."""
    return all(get_cwidth(line) <= columns for line in text.split("\n"))


def pager_command(configured: str) -> str | None:
    """Return the command of the pager: the configured one, the one in ``$PAGER``, or less.

    Return None if none of these exists.
    """
    return configured or os.environ.get("PAGER") or (_LESS if which("less") else None)


def _show(text: str, pager: str) -> None:
    try:
        process = subprocess.Popen(
            shlex.split(pager), stdin=subprocess.PIPE, encoding="utf-8", errors="replace"
        )
    except (OSError, ValueError) as error:
        sys.stdout.write(text)
        sys.stdout.flush()
        sys.stderr.write(f"warning: the pager {pager!r} did not start: {error}\n")
        return
    with _interrupts_left_to_the_pager():
        process.communicate(text)


@contextmanager
def _interrupts_left_to_the_pager() -> Iterator[None]:
    """Let only the pager handle Ctrl-C, so that the shell waits until the pager ends."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
