"""Protocol of readers of versions and changes of tables, with and without Spark."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from acidsql.metastore.protocol import Metastore
from acidsql.storage.readable_files import DeletableFiles
from acidsql.storage.tails import TailCache


class HistoryFiles(DeletableFiles, Protocol):
    """Files of tables with their modification times, which show when files were written."""

    def local(self, path: str) -> Path | None:
        """Return the path on the local disk; None if the file is not on the local disk."""


class HistoryReader(Protocol):
    """Reader of versions and changes: an ``AcidSession`` or a reader without Spark."""

    @property
    def metastore(self) -> Metastore:
        """The metastore."""

    @property
    def files(self) -> HistoryFiles:
        """Files of the tables."""

    @property
    def tails(self) -> TailCache:
        """Tails of published files."""

    @property
    def learnt_places(self) -> set[str]:
        """Directories whose write ids were already compared with the metastore."""
