"""Local file system without Spark."""

from __future__ import annotations

from acidsql.storage.filesystem import FileSystem


class LocalFiles(FileSystem):
    """File system of ``file:`` paths, which need nothing of Spark."""

    def __init__(self) -> None:
        """Need no session."""
