"""Performing the file operations that the outcome of a transaction decided on.

Each step is a rename of one name, which does nothing if the name is gone. So an operation can be
interrupted anywhere and done again, also by several processes at once. An object store, where a
rename copies, has only operations that delete, and they delete what is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from acidsql.format.paths import parent
from acidsql.metastore.changes import FileOperation, LoadedFile

_DONE = "_done"
_LOADED_PREFIX = "_acidsql_loaded_"


class FileVersion(Protocol):
    """Size in bytes and time of modification of a file."""

    @property
    def size(self) -> int:
        """Size in bytes."""

    @property
    def modified(self) -> int:
        """Time of modification."""


class ObjectStore(Protocol):
    """Store whose renames would copy what is moved."""

    def delete_objects(self, path: str) -> None:
        """Delete what a directory has now, and nothing that comes later."""


class Files(Protocol):
    """Operations on files that a metastore needs; ``FileSystem`` has them."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents, on the disk; one that exists is left as it is."""

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False without a source or a directory for the target.

        On a local disk a directory takes the place of an empty one.
        """

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync the names in directories; one that is gone is passed over."""


def prepare(files: Files, operation: FileOperation) -> None:
    """Make the holding directory, before the outcome is known."""
    if operation.holding and files.object_store(operation.holding) is None:
        files.make_directory(operation.holding)


def perform(files: Files, operation: FileOperation) -> None:
    """Do an operation, or what is left of it; it is on the disk at the end."""
    for number, move in enumerate(operation.moves):
        store = files.object_store(move.source) if move.target is None else None
        if store is not None:
            store.delete_objects(move.source)
            if move.keeps_directory:
                files.make_directory(move.source)
            continue
        held = f"{operation.holding}/{number}"
        files.move(move.source, held)
        if move.target is not None:
            files.make_directory(parent(move.target))
            files.move(held, move.target)
        elif move.keeps_directory:
            files.make_directory(move.source)
    places = [place for move in operation.moves for place in (move.source, move.target) if place]
    files.sync_names(_parents(places))
    discard(files, operation)
    for loaded in operation.loaded:
        _delete_loaded(files, operation.txn_id, loaded)
    for place in operation.emptied:
        files.delete_if_empty(place)
    files.sync_names(_parents(loaded.path for loaded in operation.loaded))


def discard(files: Files, operation: FileOperation) -> None:
    """Take the holding directory away and delete it, with what is left in it."""
    if operation.holding and files.object_store(operation.holding) is None:
        # First renamed: a late process must find no directory to move anything into.
        files.move(operation.holding, operation.holding + _DONE)
        files.delete(operation.holding + _DONE)
        files.sync_names(_parents([operation.holding]))


def _delete_loaded(files: Files, txn_id: int, loaded: LoadedFile) -> None:
    if files.object_store(loaded.path) is not None:
        found = files.version(loaded.path)
        if found is not None and (found.size, found.modified) == (loaded.size, loaded.modified):
            files.delete(loaded.path)
        return
    above, _, name = loaded.path.rpartition("/")
    hidden = f"{above}/{_LOADED_PREFIX}{txn_id}_{name}"
    # A process that died may have hidden it, and another file may be in its place since.
    if files.version(hidden) is None:
        files.move(loaded.path, hidden)
    # Compared after the rename: no process can put another file in its place now.
    found = files.version(hidden)
    if found is None:
        return
    if (found.size, found.modified) == (loaded.size, loaded.modified):
        files.delete(hidden)
    else:
        files.move(hidden, loaded.path)


def _parents(paths: Iterable[str]) -> list[str]:
    return sorted({parent(path) for path in paths})
