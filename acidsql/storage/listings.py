"""Listings of the directories that one statement reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from acidsql.format.names import SIDE_FILE_SUFFIX
from acidsql.storage.directory import Listing
from acidsql.storage.readable_files import DeletableFiles, ObjectTrees


class Listings:
    """Listings of one statement: each directory is listed once.

    Args:
        files: file system of the directories.
        txn_id: the statement's transaction; None if its plan is not executed.
        opened_at: time at which a read transaction was open, in seconds since 1970. None if the
            transaction commits later, and then learns whether it was open until the end.

    Attributes:
        opened_at: the argument.
    """

    def __init__(
        self, files: DeletableFiles, txn_id: int | None, *, opened_at: float | None = None
    ) -> None:
        self.opened_at = opened_at
        self._files = files
        self._txn_id = txn_id
        self._known: dict[str, Listing] = {}
        self._trees: set[str] = set()

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

        On an object store, all directories below them are listed too, which takes fewer requests
        than separate listings.

        Args:
            paths: the directories.
            root: a directory above most of the paths. Most directories below it are in ``paths``.
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
        for store, trees in by_store.items():
            self._known |= store.list_trees(trees)
            self._trees.update(trees)
        rest = [path for path in missing if not self._is_below_tree(path)]
        for listing in self._files.list_all(rest):
            self._known[listing.path] = listing

    def fetch_names(self, paths: Sequence[str]) -> None:
        """List the directories that are not listed yet, but no directories below them."""
        missing = [path for path in dict.fromkeys(paths) if path not in self._known]
        rest = [path for path in missing if not self._is_below_tree(path)]
        for listing in self._files.list_all(rest):
            self._known[listing.path] = listing

    def _is_below_tree(self, path: str) -> bool:
        """Return whether this directory is in or below a tree that is listed completely."""
        if not self._trees:
            return False
        return path in self._trees or any(above in self._trees for above in _above(path))

    def bound(self, path: str, lengths: Mapping[str, int]) -> None:
        """Limit files of a directory to lengths in bytes, and forget the files with these lengths.

        Streaming clients may still write beyond the lengths, which they note in side files.
        """
        listing = self.get(path)
        files = {
            name: version._replace(size=lengths.get(name, version.size))
            for name, version in listing.files.items()
            if not name.endswith(SIDE_FILE_SUFFIX)
        }
        names = tuple(name for name in listing.names if not name.endswith(SIDE_FILE_SUFFIX))
        self._known[path] = replace(listing, names=names, files=files)


def _above(path: str) -> Iterator[str]:
    """Yield the directories above a path, the nearest first."""
    while path := path.rpartition("/")[0]:
        yield path
