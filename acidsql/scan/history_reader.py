"""Protocol of readers of versions and changes of tables, with Spark and without."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from acidsql.metastore.protocol import Metastore
from acidsql.storage.readable_files import DeletableFiles
from acidsql.storage.tails import TailCache


class HistoryFiles(DeletableFiles, Protocol):
    """Files of tables, with their times of modification, which show when they were written."""

    def local(self, path: str) -> Path | None:
        """Return the path on the local disk; None if it is not there."""


class HistoryReader(Protocol):
    """Reader of versions and changes: an ``AcidSession``, a reader without Spark."""

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
        """Directories whose write ids the metastore has been compared with."""
