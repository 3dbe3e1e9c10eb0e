"""Protocol of file systems for snapshots and scans, with and without Spark."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import BinaryIO, Protocol

from acidsql.storage.directory import Listing


class ObjectTrees(Protocol):
    """Object store that lists many directories with one request."""

    def list_trees(self, paths: Collection[str]) -> Mapping[str, Listing]:
        """List directories and all directories below them, by their paths."""


class ReadableFiles(Protocol):
    """Operations that read files and directories at qualified paths.

    ``FileSystem`` and ``LocalFiles`` implement them.
    """

    def object_store(self, path: str) -> ObjectTrees | None:
        """Return the object store of a path, or None if the path is not on an object store."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""

    def list(self, path: str) -> Listing:
        """List a directory; the listing of a missing directory is empty."""

    def list_all(self, paths: Sequence[str]) -> Sequence[Listing]:
        """List directories."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, sorted; a missing directory has no names."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def read(
        self, path: str, start: int = 0, length: int | None = None, size: int | None = None
    ) -> bytes:
        """Read ``length`` bytes of a file from ``start``, by default to its end.

        Args:
            path: the file.
            start: offset of the first byte.
            length: number of bytes; None for the rest of the file.
            size: size of the file, if it is known.
        """

    def open(self, path: str) -> BinaryIO:
        """Open a file as a seekable stream."""


class DeletableFiles(ReadableFiles, Protocol):
    """Files that can also be deleted."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""
