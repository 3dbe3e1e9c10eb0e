"""Listings of directories: names, and the sizes and modification times of files."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from acidsql.format.paths import child

if TYPE_CHECKING:
    from acidsql import bridge

__all__ = [
    "FileVersion",
    "Listing",
    "by_store",
    "child",
    "list_local",
    "listing_of",
    "listings_of",
    "store_of",
]


class FileVersion(NamedTuple):
    """Size in bytes and modification time, which identify a version of the file at a path."""

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
        """Return one of the files for a scan; each of its rows gets the number ``ordinal``."""
        # Imported here because programs without Spark list directories too.
        from acidsql.bridge import ScanFile  # noqa: PLC0415

        return ScanFile(child(self.path, name), self.files[name].size, ordinal)


def list_local(path: str, local: Path) -> Listing:
    """List a local directory without Hadoop's checksum files; the listing of a file is empty."""
    names, files = [], {}
    try:
        with os.scandir(local) as entries:
            for entry in entries:
                if entry.name.startswith(".") and entry.name.endswith(".crc"):
                    continue
                with suppress(FileNotFoundError):  # deleted since the listing
                    status = entry.stat()
                    names.append(entry.name)
                    if not stat.S_ISDIR(status.st_mode):
                        files[entry.name] = FileVersion(status.st_size, status.st_mtime_ns)
    except (FileNotFoundError, NotADirectoryError):
        return Listing(path=path, names=(), files={}, exists=local.exists())
    return Listing(path=path, names=tuple(sorted(names)), files=dict(sorted(files.items())))


def listing_of(path: str, entries: Sequence[bridge.ListedPath] | None) -> Listing:
    """Build the listing of a directory; ``entries`` is None if it does not exist."""
    named = sorted((one.path.rpartition("/")[2], one) for one in entries or ())
    return Listing(
        path=path,
        names=tuple(name for name, _ in named),
        files={n: FileVersion(f.size, f.modified) for n, f in named if not f.is_directory},
        exists=entries is not None,
    )


def listings_of(root: str, entries: Sequence[bridge.ListedPath] | None) -> Mapping[str, Listing]:
    """Build the listings of a directory and of all directories with files below it.

    Args:
        root: the directory, as the file system spells it.
        entries: all files below the directory; None if it does not exist.
    """
    names: dict[str, set[str]] = {root: set()}
    files: dict[str, dict[str, FileVersion]] = {}
    for one in entries or ():
        above, _, name = one.path.rpartition("/")
        files.setdefault(above, {})[name] = FileVersion(one.size, one.modified)
        names.setdefault(above, set()).add(name)
        while len(above) > len(root):
            above, _, name = above.rpartition("/")
            names.setdefault(above, set()).add(name)
    return {
        path: Listing(
            path=path,
            names=tuple(sorted(own_names)),
            files=dict(sorted(files.get(path, {}).items())),
            exists=entries is not None,
        )
        for path, own_names in names.items()
    }


def by_store(paths: Sequence[str]) -> dict[str, list[str]]:
    """Group paths by scheme and authority."""
    groups: dict[str, list[str]] = {}
    for path in paths:
        groups.setdefault(store_of(path), []).append(path)
    return groups


def store_of(path: str) -> str:
    """Return the scheme and authority of a path."""
    scheme, separator, rest = path.partition("://")
    return f"{scheme}{separator}{rest.partition('/')[0]}" if separator else path.partition(":")[0]
