"""Publication: how new directories get to their places, before the commit that makes them visible.

Everything that writes directories for a commit to show uses it: statements, compactions,
completions of deletes and streaming batches. What it has put there is on the disk when the
transaction commits, and is deleted if the transaction is rolled back.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from acidsql.format.paths import child
from acidsql.metastore.file_moves import ObjectStore
from acidsql.storage.sync import Disk, sync


class Renaming(Protocol):
    """File system that directories are moved in; ``FileSystem`` is one."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory.

        Raises:
            FileNotFoundError: there is no source.
        """


@dataclass(slots=True, kw_only=True)
class Publication:
    """New directories of one table.

    Attributes:
        root: directory of the table, which is on the disk.
        placed: directories that were put into their places.
        trees: files and directories that are new, with all that is in them. A power failure may
            still take them away.
        names: directories where a name was added or removed, which a power failure may still undo.
    """

    root: str
    placed: list[str] = field(default_factory=list)
    trees: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def destination(
        self, files: Renaming, location: str, staging: str, names: Sequence[str]
    ) -> str:
        """Return where new directories are written: in staging, or on an object store, whose
        renames are copies, in their places.

        Args:
            files: file system of the table.
            location: directory of the partition.
            staging: directory for what is not whole yet.
            names: of the directories.
        """
        if files.object_store(location) is None:
            return staging
        for name in names:
            self.put(child(location, name))
        return location

    def place(self, files: Renaming, path: str, location: str) -> str:
        """Move a whole directory into a partition, unless it was written there (``destination``).

        Args:
            files: file system of the table.
            path: of the directory; its last part is its name in the partition.
            location: directory of the partition.

        Returns:
            Its path there.
        """
        target = child(location, path.rpartition("/")[2])
        if path != target:
            self.move(files, path, target)
        return target

    def move(self, files: Renaming, path: str, target: str) -> None:
        """Move a whole directory to its place.

        Raises:
            FileNotFoundError: there is no such directory.
        """
        self.put(target)
        files.rename(path, target)

    def put(self, target: str) -> None:
        """Note that a directory is about to be put into its place."""
        self.placed.append(target)
        self.add(target)

    def add(self, path: str) -> None:
        """Note a new file or directory, with all that is in it, which the commit must find."""
        self.trees.add(path)
        self.add_name(path)

    def add_name(self, path: str) -> None:
        """Note a name that was added or removed: the directories on the way to it, up to the root.

        All of them, because another transaction may have made one and not synced it yet. Of a path
        outside the root it is only the directory that it lies in.
        """
        while True:
            path = path.rpartition("/")[0]
            self.names.add(path)
            if not path.startswith(f"{self.root}/"):
                return

    def removed(self, path: str) -> None:
        """Note that a directory is not in its place any more."""
        self.placed = [placed for placed in self.placed if placed != path]
        self.add_name(path)

    def undo(self, files: Disk) -> None:
        """Delete what was put into its place, which no reader has seen."""
        for path in self.placed:
            files.delete(path)


def sync_all(files: Disk, publications: Iterable[Publication]) -> None:
    """Sync what the tables of a transaction have to sync, all at once, and forget it.

    Raises:
        FormatError: SYNC_FAILED.
    """
    of_tables = list(publications)
    trees = sorted({path for one in of_tables for path in one.trees})
    sync(files, trees, sorted({path for one in of_tables for path in one.names}))
    for one in of_tables:
        one.trees.clear()
        one.names.clear()
