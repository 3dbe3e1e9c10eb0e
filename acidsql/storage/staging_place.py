"""Place where a statement stages: a hidden directory of the table, and on object stores also one of
the driver's disk.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from tempfile import gettempdir
from typing import cast
from uuid import uuid4

from acidsql import bridge
from acidsql.format.names import STAGING_PREFIX
from acidsql.storage.filesystem import FileSystem, child

_MANIFESTS = "manifests"


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedFile:
    """Bucket file of a statement that is not at its place yet.

    Attributes:
        target: name of its target (``staging.Target``).
        values: of its partition, as text; () for delete events, whose files are of all partitions.
        bucket: number of its bucket.
        rows: number of its rows.
        deletes: number of its delete events.
        size: in bytes.
        path: where a task wrote it; None if it is in memory.
        content: its bytes if it is in memory.
    """

    target: str
    values: tuple[str, ...]
    bucket: int
    rows: int
    deletes: int
    size: int
    path: str | None = None
    content: bytes = b""


@dataclass(frozen=True, slots=True)
class StagingPlace:
    """Place where a statement stages.

    Attributes:
        path: directory in the table's directory, which readers ignore.
        local: directory of the driver's disk for the manifests of write jobs, if the table is on an
            object store. Both come into being when they are used.
        files: bucket files of the statement. What else lies in the directory was left by tasks that
            failed or ran twice.
    """

    path: str
    local: Path | None = None
    files: list[StagedFile] = field(default_factory=list)

    def below(self, name: str) -> StagingPlace:
        """Return a place of its own within this one."""
        local = self.local and self.local.with_name(f"{self.local.name}_{name}")
        return StagingPlace(child(self.path, name), local)

    def begin_job(self) -> None:
        """Note that a job is about to write here."""
        if self.local is not None:
            (self.local / _MANIFESTS).mkdir(parents=True, exist_ok=True)

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
