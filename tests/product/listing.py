"""Which directories a statement lists."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from acidsql.storage.filesystem import FileSystem, Listing


def note_listings(monkeypatch: pytest.MonkeyPatch, note: Callable[[str], None]) -> None:
    """Have ``note`` called with the path of each directory that is listed, alone or with others."""
    one, several = FileSystem.list, FileSystem.list_all

    def list_one(self: FileSystem, path: str) -> Listing:
        note(path)
        return one(self, path)

    def list_several(self: FileSystem, paths: Sequence[str]) -> Sequence[Listing]:
        for path in paths if len(paths) > 1 else ():  # one is listed alone
            note(path)
        return several(self, paths)

    monkeypatch.setattr(FileSystem, "list", list_one)
    monkeypatch.setattr(FileSystem, "list_all", list_several)
