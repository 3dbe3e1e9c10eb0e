"""Protocol of files that snapshots and scans are read from, with Spark and without."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import BinaryIO, Protocol

from acidsql.storage.directory import Listing


class ObjectTrees(Protocol):
    """Object store that lists many directories at one request."""

    def list_trees(self, paths: Collection[str]) -> Mapping[str, Listing]:
        """List directories and all directories below them, by their paths."""


class ReadableFiles(Protocol):
    """Operations that read files and directories by qualified paths; ``FileSystem`` and
    ``LocalFiles`` have them.
    """

    def object_store(self, path: str) -> ObjectTrees | None:
        """Return the object store that a path is on; None if it is on none."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""

    def list(self, path: str) -> Listing:
        """List a directory; one that does not exist is empty."""

    def list_all(self, paths: Sequence[str]) -> Sequence[Listing]:
        """List directories."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, sorted; one that does not exist is empty."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def read(
        self, path: str, start: int = 0, length: int | None = None, size: int | None = None
    ) -> bytes:
        """Read ``length`` bytes of a file from ``start``, by default to its end.

        Args:
            size: of the file, if it is known.
        """

    def open(self, path: str) -> BinaryIO:
        """Open a file as a seekable stream."""


class DeletableFiles(ReadableFiles, Protocol):
    """Files that can be deleted too."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""
