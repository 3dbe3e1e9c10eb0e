"""Synchronisation: puts the files of a transaction on the disk before the transaction commits.

On the local disk, a file that was written and closed, or renamed, is at first only in the memory of
the operating system. The driver also syncs the files that Spark's tasks wrote, because tasks that
write to a local disk run on the same machine. Other file systems keep closed files, and Hive
requires no more of them.
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

# Errors of file systems that cannot sync directories; PostgreSQL ignores them too.
_NO_DIRECTORY_SYNC = frozenset({errno.EACCES, errno.EBADF, errno.EINVAL, errno.EISDIR})


class Disk(Protocol):
    """File system that can be on a local disk, for example ``FileSystem`` or ``LocalFiles``."""

    @property
    def synchronous(self) -> bool:
        """Whether ``sync`` has an effect."""

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path, or None if the path is not on an object store."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; an existing directory is left unchanged."""

    def move(self, source: str, target: str) -> bool:
        """Rename; return False if the source or the target's parent does not exist."""

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""


def sync(files: Disk, trees: Sequence[str] = (), directories: Sequence[str] = ()) -> None:
    """Sync files and directories of the local disk; syncing many costs little more than one.

    Args:
        files: file system of the paths.
        trees: files, and directories with their contents.
        directories: directories where only the names are synced.

    Raises:
        FormatError: SYNC_FAILED. Data that was written since the last sync may then be lost, even
            if a later sync succeeds.
    """
    if not files.synchronous:
        return
    paths = [path for tree in trees if (local := files.local(tree)) for path in _below(local)]
    # A directory that was moved in the meantime is in one of the trees.
    paths += [local for path in directories if (local := files.local(path)) and local.is_dir()]
    in_parallel(_sync, list(dict.fromkeys(paths)))


def make_directory(files: Disk, path: str) -> None:
    """Create a directory and its parents, and sync their names, even if the directory exists.

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
    """Files of a metastore; new directories are synced to the disk immediately."""

    def __init__(self, files: Disk) -> None:
        self._files = files

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path, or None if the path is not on an object store."""
        return self._files.object_store(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._files.exists(path)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents, and sync them to the disk."""
        make_directory(self._files, path)

    def move(self, source: str, target: str) -> bool:
        """Rename; return False if the source or the target's parent does not exist."""
        return self._files.move(source, target)

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""
        return self._files.version(path)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""
        self._files.delete(path)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""
        return self._files.delete_if_empty(path)

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync the names in directories; missing directories are skipped."""
        sync(self._files, directories=directories)


def _below(path: Path) -> Iterator[Path]:
    """Yield a path, and everything below it if it is a directory."""
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
