"""Publication: moves new directories to their places, before the commit makes them visible.

All writers use it: statements, compactions, completions of deletes and streaming batches. The
published directories are on the disk when the transaction commits, and are deleted if the
transaction is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from acidsql.format.paths import child
from acidsql.metastore.file_moves import ObjectStore
from acidsql.storage.sync import Disk, sync


class Renaming(Protocol):
    """File system that can rename directories, for example ``FileSystem``."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path, or None if the path is not on an object store."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory.

        Raises:
            FileNotFoundError: the source does not exist.
        """


@dataclass(slots=True, kw_only=True)
class Publication:
    """New directories of one table.

    Attributes:
        root: directory of the table, which is on the disk.
        placed: directories that were put into their places.
        trees: new files, and new directories with their contents, which a power failure can still
            destroy.
        names: directories where a name was added or removed, which a power failure can still undo.
    """

    root: str
    placed: list[str] = field(default_factory=list)
    trees: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def destination(
        self, files: Renaming, location: str, staging: str, names: Sequence[str]
    ) -> str:
        """Return the directory where new directories are written.

        This is staging. On an object store, where renames are copies, it is their final place.

        Args:
            files: file system of the table.
            location: directory of the partition.
            staging: directory for incomplete directories.
            names: names of the new directories.
        """
        if files.object_store(location) is None:
            return staging
        for name in names:
            self.put(child(location, name))
        return location

    def place(self, files: Renaming, path: str, location: str) -> str:
        """Move a complete directory to a partition, unless it was written there (``destination``).

        Args:
            files: file system of the table.
            path: path of the directory; its last part is the name in the partition.
            location: directory of the partition.

        Returns:
            The path in the partition.
        """
        target = child(location, path.rpartition("/")[2])
        if path != target:
            self.move(files, path, target)
        return target

    def move(self, files: Renaming, path: str, target: str) -> None:
        """Move a complete directory to its place.

        Raises:
            FileNotFoundError: the directory does not exist.
        """
        self.put(target)
        files.rename(path, target)

    def put(self, target: str) -> None:
        """Note that a directory is about to be put into its place."""
        self.placed.append(target)
        self.add(target)

    def add(self, path: str) -> None:
        """Note a new file, or directory with its contents, which the commit must find."""
        self.trees.add(path)
        self.add_name(path)

    def add_name(self, path: str) -> None:
        """Note the directories above a name that was added or removed, up to the root.

        All of these directories are noted, because another transaction may have created one without
        having synced it yet. For a path outside the root, only its parent directory is noted.
        """
        while True:
            path = path.rpartition("/")[0]
            self.names.add(path)
            if not path.startswith(f"{self.root}/"):
                return

    def removed(self, path: str) -> None:
        """Note that a directory is no longer in its place."""
        self.placed = [placed for placed in self.placed if placed != path]
        self.add_name(path)

    def undo(self, files: Disk) -> None:
        """Delete the published directories, which no reader has seen."""
        for path in self.placed:
            files.delete(path)


def sync_all(files: Disk, publications: Iterable[Publication]) -> None:
    """Sync the new files and names of all tables of a transaction together, and forget them.

    Raises:
        FormatError: SYNC_FAILED.
    """
    of_tables = list(publications)
    trees = sorted({path for one in of_tables for path in one.trees})
    sync(files, trees, sorted({path for one in of_tables for path in one.names}))
    for one in of_tables:
        one.trees.clear()
        one.names.clear()
