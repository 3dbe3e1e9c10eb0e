"""Place where a statement stages: a hidden directory of the table, and on object stores also one of
the driver's disk.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple, cast
from uuid import uuid4

from acidsql import bridge
from acidsql.format.names import STAGING_PREFIX
from acidsql.storage.filesystem import FileSystem, child

_MANIFESTS = "manifests"


class StagingPlace(NamedTuple):
    """Place where a statement stages.

    Attributes:
        path: directory in the table's directory, which readers ignore.
        local: directory of the driver's disk for what the driver stages and for the manifests of
            write jobs, if the table is on an object store. Both come into being when they are used.
    """

    path: str
    local: Path | None = None

    @property
    def of_driver(self) -> str:
        """Directory in which the driver stages."""
        return self.path if self.local is None else (self.local / "rows").as_uri()

    def below(self, name: str) -> StagingPlace:
        """Return a place of its own within this one."""
        local = self.local and self.local.with_name(f"{self.local.name}_{name}")
        return StagingPlace(child(self.path, name), local)

    def new_manifest(self) -> Path:
        """Return a directory for the manifest of a write job, which does not exist; the place is on
        an object store.
        """
        return cast(Path, self.local) / _MANIFESTS / uuid4().hex


def staging_place(files: FileSystem, location: str, txn_id: int) -> StagingPlace:
    """Return where a transaction stages for a table; nothing is created.

    Args:
        location: directory of the table.
    """
    path = child(location, f"{STAGING_PREFIX}{txn_id}")
    if not files.is_object_store(location):
        return StagingPlace(path)
    return StagingPlace(path, Path(gettempdir()) / f"acidsql_{uuid4().hex}")


def delete_staging(files: FileSystem, staging: StagingPlace) -> None:
    """Delete what was staged."""
    if staging.local is None:
        files.delete(staging.path)
        return
    if (staging.local / _MANIFESTS).exists():
        # Also the objects that S3A makes for directories, when it deletes what a task has left.
        files.delete(staging.path)
    files.delete(staging.local.as_uri())


def files_of_jobs(staging: StagingPlace) -> list[bridge.manifest_write.WrittenFile]:
    """Return what the write jobs of a statement have staged on an object store."""
    directory = cast(Path, staging.local) / _MANIFESTS
    found = sorted(directory.iterdir()) if directory.exists() else []
    return [file for manifest in found for file in bridge.manifest_write.read_manifest(manifest)]
