"""Local file system without Spark."""

from __future__ import annotations

from collections.abc import Sequence

from acidsql.storage.filesystem import FileSystem


class LocalFiles(FileSystem):
    """File system of ``file:`` paths, which need nothing of Spark."""

    def __init__(self) -> None:
        """Need no session."""
        self.synchronous = False

    def sync_names(self, directories: Sequence[str]) -> None:
        """Sync nothing: these tests end no machine."""
