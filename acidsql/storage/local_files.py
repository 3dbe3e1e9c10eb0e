"""Files on the local disk, for programs without Spark; ``FileSystem`` supports other stores too."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

from acidsql.errors import FormatError
from acidsql.storage import local_disk
from acidsql.storage.directory import Listing, list_local


class _Version(NamedTuple):
    size: int
    modified: int


class LocalFiles:
    """Operations on paths of the local disk (``file:/…``), as in ``FileSystem``.

    Args:
        synchronous: whether ``sync`` writes through to the disk.
    """

    appends = True

    def __init__(self, *, synchronous: bool = True) -> None:
        self.synchronous = synchronous

    def has(self, path: str) -> bool:
        """Return whether a path is on the local disk."""
        return self.local(path) is not None

    def check(self, directory: str) -> None:
        """Check that a directory exists."""
        if not self.is_directory(directory):
            raise FileNotFoundError(errno.ENOENT, "there is no such directory", directory)

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""
        return local_disk.local_path(path)

    def object_store(self, path: str) -> None:
        """Return None, because the local disk is not an object store."""
        self._required(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._required(path).exists()

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; a missing directory has no names."""
        try:
            return tuple(sorted(one.name for one in self._required(path).iterdir()))
        except FileNotFoundError:
            return ()

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""
        return self._required(path).is_dir()

    def list(self, path: str) -> Listing:
        """List a directory; the listing of a missing directory is empty."""
        return list_local(path, self._required(path))

    def list_all(self, paths: Sequence[str]) -> Sequence[Listing]:
        """List directories."""
        return [self.list(path) for path in paths]

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return self._required(path).stat().st_size

    def read(
        self,
        path: str,
        start: int = 0,
        length: int | None = None,
        size: int | None = None,  # noqa: ARG002
    ) -> bytes:
        """Read ``length`` bytes of a file from ``start``, by default to its end."""
        with self.open(path) as stream:
            stream.seek(start)
            return stream.read() if length is None else stream.read(length)

    def open(self, path: str) -> BinaryIO:
        """Open a file as a seekable stream."""
        return self._required(path).open("rb")

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""
        local = self._required(path)
        local.parent.mkdir(parents=True, exist_ok=True)
        with local.open("xb") as stream:
            stream.write(content)

    def begin(self, path: str, content: bytes) -> None:
        """Create a file for later appends, with its parent directories; it must not exist."""
        self.write(path, content)

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Append to a file that only one client writes.

        Args:
            path: the file.
            content: bytes to append.
            offset: offset of the end of the file; bytes that a failed write left there are
                overwritten.
            sync: whether to write through to the disk.
        """
        with self._required(path).open("r+b") as stream:
            stream.seek(offset)
            stream.write(content)
            stream.truncate()
            stream.flush()
            if sync and self.synchronous:
                os.fsync(stream.fileno())

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; an existing directory is left unchanged."""
        self._required(path).mkdir(parents=True, exist_ok=True)

    def move(self, source: str, target: str) -> bool:
        """Rename a file or directory if it exists and the target's parent exists.

        A directory atomically replaces an empty directory.

        Raises:
            FormatError: PATH_ALREADY_EXISTS, the target exists and cannot be replaced.
        """
        try:
            return local_disk.move(self._required(source), self._required(target))
        except FileExistsError as error:
            raise local_disk.target_exists(source, target) from error

    def version(self, path: str) -> _Version | None:
        """Return the size and modification time of a file, or None if it does not exist."""
        local = self._required(path)
        try:
            status = local.stat()
        except FileNotFoundError:
            return None
        return None if local.is_dir() else _Version(status.st_size, status.st_mtime_ns)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""
        local_disk.delete(self._required(path))

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""
        return local_disk.delete_if_empty(self._required(path))

    def _required(self, path: str) -> Path:
        local = self.local(path)
        if local is None:
            raise FormatError(
                "UNSUPPORTED_FEATURE.STREAMING_LOCATION",
                f"{path} is neither on the local disk nor in the storage of the streaming "
                "connection: give connect(storage=…), or write to this table by statements",
            )
        return local
