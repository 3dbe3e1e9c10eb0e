"""Listings and copies of directories that one statement makes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acidsql.format.names import STAGING_PREFIX
from acidsql.storage.directory import Listing, child
from acidsql.storage.readable_files import DeletableFiles, ObjectTrees


class Copy(NamedTuple):
    """Directory for a copy; ``is_new`` is true as long as it is empty."""

    path: str
    is_new: bool


class Listings:
    """Listings of one statement: each directory is listed once.

    Args:
        txn_id: the statement's transaction; None if its plan is not executed.
        label: begins the names of its copies, where several statements have one transaction.
    """

    def __init__(self, files: DeletableFiles, txn_id: int | None, label: str = "") -> None:
        self._files = files
        self._txn_id = txn_id
        self._label = label
        self._known: dict[str, Listing] = {}
        self._trees: set[str] = set()
        self._copies: dict[str, str] = {}
        self._staging: set[str] = set()

    @property
    def txn_id(self) -> int | None:
        """Statement's transaction; None if its plan is not executed."""
        return self._txn_id

    def get(self, path: str) -> Listing:
        """Return the listing of a directory."""
        if path not in self._known:
            known = self._is_below_tree(path)
            none = Listing(path=path, names=(), files={}, exists=False)
            self._known[path] = none if known else self._files.list(path)
        return self._known[path]

    def fetch(self, paths: Sequence[str], root: str | None = None) -> None:
        """List the directories that are not listed yet.

        On an object store all directories below them are listed too, which takes fewer requests
        than one after the other.

        Args:
            root: a directory that has most of what is below it among the paths.
        """
        missing = [path for path in dict.fromkeys(paths) if path not in self._known]
        missing = [path for path in missing if not self._is_below_tree(path)]
        in_stores = [path for path in missing if self._files.object_store(path) is not None]
        if root is not None and sum(path.startswith(f"{root}/") for path in in_stores) > 1:
            outside = [p for p in in_stores if not f"{p}/".startswith(f"{root}/")]
            in_stores = [root, *outside]
        tops = set(in_stores)
        in_stores = [path for path in in_stores if not any(above in tops for above in _above(path))]
        by_store: dict[ObjectTrees, list[str]] = {}
        for path in in_stores:
            if (store := self._files.object_store(path)) is not None:
                by_store.setdefault(store, []).append(path)
        for store, own in by_store.items():
            self._known |= store.list_trees(own)
            self._trees.update(own)
        rest = [path for path in missing if not self._is_below_tree(path)]
        for listing in self._files.list_all(rest):
            self._known[listing.path] = listing

    def fetch_names(self, paths: Sequence[str]) -> None:
        """List the directories that are not listed yet, and none below them."""
        missing = [path for path in dict.fromkeys(paths) if path not in self._known]
        rest = [path for path in missing if not self._is_below_tree(path)]
        for listing in self._files.list_all(rest):
            self._known[listing.path] = listing

    def _is_below_tree(self, path: str) -> bool:
        """Return whether everything below a directory that contains this one is listed."""
        if not self._trees:
            return False
        return path in self._trees or any(above in self._trees for above in _above(path))

    def copy_of(self, path: str, table: str) -> Copy | None:
        """Return the directory for the statement's copy of a directory, which is deleted after it.

        Args:
            path: the directory.
            table: the location of its table.

        Returns:
            A directory in the table's staging, which readers ignore; None if the statement is not
                executed.
        """
        if self._txn_id is None:
            return None
        is_new = path not in self._copies
        if is_new:
            staging = child(table, f"{STAGING_PREFIX}{self._txn_id}")
            self._staging.add(staging)
            self._copies[path] = child(staging, f"{self._label}copy_{len(self._copies)}")
        return Copy(self._copies[path], is_new)

    @property
    def has_copies(self) -> bool:
        """Whether there is a directory for copies."""
        return bool(self._staging)

    def delete_copies(self) -> None:
        """Delete all copies."""
        for staging in self._staging:
            self._files.delete(staging)
        self._staging.clear()


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path
