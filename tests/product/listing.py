"""Recording of the directories that a statement lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from acidsql.storage.filesystem import FileSystem, Listing


def note_listings(monkeypatch: pytest.MonkeyPatch, note: Callable[[str], None]) -> None:
    """Have ``note`` called with the path of each directory that is listed, also among others."""
    real = FileSystem.list_all

    def list_all(self: FileSystem, paths: Sequence[str]) -> Sequence[Listing]:
        for path in paths:
            note(path)
        return real(self, paths)

    monkeypatch.setattr(FileSystem, "list_all", list_all)
