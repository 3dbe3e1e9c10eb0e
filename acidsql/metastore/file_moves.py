"""Execution of the file operations that the outcome of a transaction requires.

Each step renames one file or directory, and does nothing if its name is gone. An operation can
therefore be interrupted anywhere and repeated, even by several processes at the same time. In an
object store, where a rename copies, operations only delete, and they delete the current objects.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

from acidsql.format.paths import parent
from acidsql.injection_points import Point, reach
from acidsql.metastore.catalog_changes import FileOperation, LoadedFile

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
    """Object store, where a rename copies the objects."""

    def delete_objects(self, path: str) -> None:
        """Delete the objects that a directory contains now, and none that are added later."""


class Files(Protocol):
    """Operations on files that a metastore needs; ``FileSystem`` has them."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path; None if the path is not in an object store."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents durably; do nothing if it exists."""

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False if the source or the target's parent is missing.

        On a local disk, a directory can replace an empty one.
        """

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; do nothing if it is gone."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync the names in directories; skip directories that are gone."""


def prepare(files: Files, operation: FileOperation) -> None:
    """Create the holding directory, before the outcome is known."""
    if operation.holding and files.object_store(operation.holding) is None:
        reach(Point.BEFORE_HOLDING, operation)
        files.make_directory(operation.holding)


def perform(files: Files, operation: FileOperation) -> None:
    """Execute an operation, or the rest of it; its effect is durable at the end."""
    for number, move in enumerate(operation.moves):
        store = files.object_store(move.source) if move.target is None else None
        if store is not None:
            store.delete_objects(move.source)
            if move.keeps_directory:
                files.make_directory(move.source)
            continue
        held_path = f"{operation.holding}/{number}"
        files.move(move.source, held_path)
        if move.target is not None:
            files.make_directory(parent(move.target))
            files.move(held_path, move.target)
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
    """Remove the holding directory with its remaining contents."""
    if operation.holding and files.object_store(operation.holding) is None:
        # Rename it first, so that a late process finds no directory to move anything into.
        files.move(operation.holding, operation.holding + _DONE)
        files.delete(operation.holding + _DONE)
        files.sync_names(_parents([operation.holding]))


def _delete_loaded(files: Files, txn_id: int, loaded: LoadedFile) -> None:
    if files.object_store(loaded.path) is not None:
        version = files.version(loaded.path)
        if version is not None and (version.size, version.modified) == (
            loaded.size,
            loaded.modified,
        ):
            files.delete(loaded.path)
        return
    above, _, name = loaded.path.rpartition("/")
    hidden = f"{above}/{_LOADED_PREFIX}{txn_id}_{name}"
    # A process that died may have hidden the file, and another file may have its name now.
    if files.version(hidden) is None:
        files.move(loaded.path, hidden)
    # Compare after the rename, because no process can replace the hidden file now.
    version = files.version(hidden)
    if version is None:
        return
    if (version.size, version.modified) == (loaded.size, loaded.modified):
        files.delete(hidden)
    else:
        files.move(hidden, loaded.path)


def _parents(paths: Iterable[str]) -> list[str]:
    return sorted({parent(path) for path in paths})
