"""Number of bytes that statements write."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path


def sizes(root: Path) -> dict[Path, int]:
    """Return the size in bytes of each file below a directory."""
    by_path = {}
    for path in root.rglob("*"):
        # A background thread may remove files.
        with contextlib.suppress(FileNotFoundError):
            if path.is_file():
                by_path[path] = path.stat().st_size
    return by_path


def written(before: Mapping[Path, int], after: Mapping[Path, int]) -> int:
    """Return the bytes of new files and the growth of other files; removed files are ignored."""
    return sum(max(0, size - before.get(path, 0)) for path, size in after.items())
