"""Bytes that statements write."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path


def sizes(root: Path) -> dict[Path, int]:
    """Return the size in bytes of each file below a directory."""
    found = {}
    for path in root.rglob("*"):
        # A background thread may remove files.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                found[path] = path.stat().st_size
    return found


def written(before: Mapping[Path, int], after: Mapping[Path, int]) -> int:
    """Return how many bytes new files have and others grew by; removed files do not count."""
    return sum(max(0, size - before.get(path, 0)) for path, size in after.items())
