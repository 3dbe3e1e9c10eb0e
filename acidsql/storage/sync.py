"""Synchronisation: what a transaction wrote is on the disk before the transaction commits.

A file of the local disk that was written and closed, or renamed, is in the memory of the operating
system at first. The driver also syncs the files that Spark's tasks wrote: they run on the same
machine if they write to a local disk. Other file systems keep what was closed. Hive requires no
more of them.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from acidsql.errors import FormatError
from acidsql.metastore.file_moves import FileVersion, ObjectStore
from acidsql.storage.parallel import in_parallel

# File systems that cannot sync directories refuse it in one of these ways; PostgreSQL goes on too.
_NO_DIRECTORY_SYNC = frozenset({errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR})


class Disk(Protocol):
    """File system that may be on a local disk; ``FileSystem`` and ``LocalFiles`` are."""

    @property
    def synchronous(self) -> bool:
        """Whether ``sync`` does anything."""

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; one that exists is left as it is."""

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False without a source or a directory for the target."""

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""


def sync(files: Disk, trees: Sequence[str] = (), directories: Sequence[str] = ()) -> None:
    """Sync files and directories of the local disk; many at a time cost little more than one.

    Args:
        trees: files, and directories with all that is in them.
        directories: directories where only the names in them are synced.

    Raises:
        FormatError: SYNC_FAILED. What was written since the last sync may be lost then, whether or
            not another one succeeds.
    """
    if not files.synchronous:
        return
    found = [path for tree in trees if (local := files.local(tree)) for path in _below(local)]
    # A directory that was moved since is in one of the trees.
    found += [local for path in directories if (local := files.local(path)) and local.is_dir()]
    in_parallel(_sync, list(dict.fromkeys(found)))


def make_directory(files: Disk, path: str) -> None:
    """Create a directory and its parents, and sync their names; one that exists is only synced.

    Raises:
        FormatError: SYNC_FAILED.
    """
    changed = [path.rpartition("/")[0]]
    if files.local(path):
        while not files.exists(changed[-1]):
            changed.append(changed[-1].rpartition("/")[0])
    files.make_directory(path)
    sync(files, directories=changed)


class SyncedFiles:
    """Files of a metastore, whose directories are on the disk when they are made."""

    def __init__(self, files: Disk) -> None:
        self._files = files

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""
        return self._files.object_store(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._files.exists(path)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents, on the disk; one that exists is left as it is."""
        make_directory(self._files, path)

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False without a source or a directory for the target."""
        return self._files.move(source, target)

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""
        return self._files.version(path)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""
        self._files.delete(path)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""
        return self._files.delete_if_empty(path)

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync the names in directories; one that is gone is passed over."""
        sync(self._files, directories=directories)


def _below(path: Path) -> Iterator[Path]:
    """Yield a path, and if it is a directory everything in it."""
    yield path
    for directory, directories, names in os.walk(path):
        yield from (Path(directory, name) for name in (*directories, *names))


def _sync(path: Path) -> None:
    """Sync a file or the names in a directory."""
    is_directory = path.is_dir()
    try:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if is_directory and error.errno in _NO_DIRECTORY_SYNC:
            return
        raise FormatError(
            "SYNC_FAILED",
            f"{path} could not be written through to the disk ({error.strerror}): check the disk "
            "and its free space, and run the statement again",
        ) from error
