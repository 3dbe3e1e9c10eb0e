"""Place where a statement stages its files.

This is a hidden directory of the table, and on object stores also a directory on the driver's disk.
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
    """Bucket file of a statement that is not at its final place yet.

    Attributes:
        target: name of the file's target (``staging.Target``).
        values: values of the file's partition, as text; () for delete events, because their files
            cover all partitions.
        bucket: number of the bucket.
        rows: number of rows.
        deletes: number of delete events.
        size: size in bytes.
        path: path that a task has written; None if the file is in memory.
        content: bytes of a file that is in memory.
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
        local: directory on the driver's disk for the manifests of write jobs, if the table is on an
            object store. Both directories are created on their first use.
        files: bucket files of the statement. Other files in the directory are left over from tasks
            that failed or ran twice.
    """

    path: str
    local: Path | None = None
    files: list[StagedFile] = field(default_factory=list)

    def below(self, name: str) -> StagingPlace:
        """Return a separate place within this one."""
        local = self.local and self.local.with_name(f"{self.local.name}_{name}")
        return StagingPlace(child(self.path, name), local)

    def begin_job(self) -> None:
        """Prepare the place for a write job."""
        if self.local is not None:
            (self.local / _MANIFESTS).mkdir(parents=True, exist_ok=True)

    def new_manifest(self) -> Path:
        """Return a new path for the manifest of a write job; the place is on an object store."""
        return cast(Path, self.local) / _MANIFESTS / uuid4().hex


def staging_place(files: FileSystem, location: str, txn_id: int) -> StagingPlace:
    """Return the place where a transaction stages for a table; nothing is created.

    Args:
        files: file system of the table.
        location: directory of the table.
        txn_id: the transaction.
    """
    path = child(location, f"{STAGING_PREFIX}{txn_id}")
    if not files.is_object_store(location):
        return StagingPlace(path)
    return StagingPlace(path, Path(gettempdir()) / f"acidsql_{uuid4().hex}")


def delete_staging(files: FileSystem, staging: StagingPlace) -> None:
    """Delete all staged files."""
    if staging.local is None:
        files.delete(staging.path)
        return
    if (staging.local / _MANIFESTS).exists():
        # This also deletes the objects for directories that S3A creates when it deletes the files
        # that a task has left.
        files.delete(staging.path)
    files.delete(staging.local.as_uri())


def files_of_jobs(staging: StagingPlace) -> list[bridge.manifest_write.WrittenFile]:
    """Return the files that the write jobs of a statement have staged on an object store."""
    directory = cast(Path, staging.local) / _MANIFESTS
    manifests = sorted(directory.iterdir()) if directory.exists() else []
    return [
        file for manifest in manifests for file in bridge.manifest_write.read_manifest(manifest)
    ]
