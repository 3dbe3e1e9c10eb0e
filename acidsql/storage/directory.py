"""Directories: the paths in them, and what a listing tells of their files."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from acidsql import bridge
from acidsql.format.paths import child

__all__ = ["FileVersion", "Listing", "child", "list_local", "listing_of"]


class FileVersion(NamedTuple):
    """Size in bytes and time of modification, which tell a file from an earlier one of the same
    path.
    """

    size: int
    modified: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Listing of a directory.

    Attributes:
        names: names of all files and directories, sorted.
        files: version of each file by its name, in the order of the names.
        exists: whether the directory exists.
    """

    path: str
    names: tuple[str, ...]
    files: Mapping[str, FileVersion]
    exists: bool = True

    def scanned(self, name: str, ordinal: int = 0) -> bridge.ScanFile:
        """Return one of the files for a scan; each of its rows has the number ``ordinal``."""
        return bridge.ScanFile(child(self.path, name), self.files[name].size, ordinal)


def list_local(path: str, local: Path) -> Listing:
    """List a local directory, without the checksum files of Hadoop; a file has no names in it."""
    names, files = [], {}
    try:
        with os.scandir(local) as entries:
            for entry in entries:
                if entry.name.startswith(".") and entry.name.endswith(".crc"):
                    continue
                with suppress(FileNotFoundError):  # deleted since the listing
                    found = entry.stat()
                    names.append(entry.name)
                    if not stat.S_ISDIR(found.st_mode):
                        files[entry.name] = FileVersion(found.st_size, found.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return Listing(path=path, names=(), files={}, exists=local.exists())
    return Listing(path=path, names=tuple(sorted(names)), files=dict(sorted(files.items())))


def listing_of(path: str, found: Sequence[bridge.FoundPath] | None) -> Listing:
    """Return the listing of a directory; ``found`` is None if it does not exist."""
    named = sorted((one.path.rpartition("/")[2], one) for one in found or ())
    return Listing(
        path=path,
        names=tuple(name for name, _ in named),
        files={n: FileVersion(f.size, f.modified) for n, f in named if not f.is_directory},
        exists=found is not None,
    )
