"""Listings and copies of directories that one statement makes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from acidsql.format.names import STAGING_PREFIX
from acidsql.storage.filesystem import FileSystem, Listing, child


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

    def __init__(self, files: FileSystem, txn_id: int | None, label: str = "") -> None:
        self._files = files
        self._txn_id = txn_id
        self._label = label
        self._known: dict[str, Listing] = {}
        self._copies: dict[str, str] = {}
        self._staging: set[str] = set()

    @property
    def txn_id(self) -> int | None:
        """Statement's transaction; None if its plan is not executed."""
        return self._txn_id

    def get(self, path: str) -> Listing:
        """Return the listing of a directory."""
        if path not in self._known:
            self._known[path] = self._files.list(path)
        return self._known[path]

    def fetch(self, paths: Sequence[str]) -> None:
        """List the directories that are not listed yet."""
        missing = [path for path in dict.fromkeys(paths) if path not in self._known]
        for listing in self._files.list_all(missing):
            self._known[listing.path] = listing

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
