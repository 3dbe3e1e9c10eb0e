"""Processes of Linux: their descendants and states."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path


def descendants(process: int) -> dict[int, str]:
    """Return the command lines of the children of a process, theirs, and so on."""
    parents = dict(_parents())
    found: dict[int, str] = {}
    frontier = [process]
    while frontier:
        above = frontier.pop()
        below = [one for one, parent in parents.items() if parent == above]
        frontier += below
        found.update({one: _command(one) for one in below})
    return found


def is_stopped(process: int) -> bool:
    """Return whether a process was stopped by a signal."""
    return _status(Path(f"/proc/{process}"))[0] == "T"


def _parents() -> Iterator[tuple[int, int]]:
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                yield int(place.name), int(_status(place)[1])
            except (FileNotFoundError, ProcessLookupError):
                continue  # it has ended


def _status(place: Path) -> list[str]:
    """Return the fields of ``stat`` after the name, which may have blanks and brackets."""
    return (place / "stat").read_text().rpartition(")")[2].split()


def _command(process: int) -> str:
    try:
        return Path(f"/proc/{process}/cmdline").read_text().replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):
        return ""
