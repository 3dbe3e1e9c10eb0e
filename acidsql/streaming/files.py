"""File systems of a streaming client, and the file operations that it needs."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.file_moves import FileVersion, ObjectStore
from acidsql.storage.local_files import LocalFiles


class StorageFiles(Protocol):
    """Files of one file system other than the local disk: ``HdfsFiles`` or ``S3Files``.

    Its methods raise errors as ``OSError``.
    """

    @property
    def appends(self) -> bool:
        """Whether a file can be read, and then grow.

        Otherwise a file exists only after its first synced ``append``, and cannot grow after it.
        """

    def has(self, path: str) -> bool:
        """Return whether a path belongs to this file system."""

    def check(self, directory: str) -> None:
        """Check that the file system answers and contains a table's directory."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path; None if the path is not on an object store."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory; the list is empty if it does not exist."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def write(self, path: str, content: bytes) -> None:
        """Create a file and its parent directories; the file must not exist."""

    def begin(self, path: str, content: bytes) -> None:
        """Create a file to append to, and its parent directories; the file must not exist."""

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Append to a file that only one client writes.

        Args:
            offset: offset of the end of the file.
            sync: whether the whole file must survive a machine failure from now on.
        """

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; do nothing if the directory exists."""

    def move(self, source: str, target: str) -> bool:
        """Rename; if the source or the target's parent is missing, do nothing and return False."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory and its content; the path may be missing."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""


class StreamingFiles:
    """Files of a streaming client: those of the local disk, and of one other file system.

    Args:
        local: files of the local disk, which can contain other tables of the metastore.
        storage: files of the other file system; None if there is none.
    """

    def __init__(self, local: LocalFiles, storage: StorageFiles | None = None) -> None:
        self._local = local
        self._storage = storage

    @property
    def synchronous(self) -> bool:
        """Whether files on the local disk are synced."""
        return self._local.synchronous

    def has(self, path: str) -> bool:
        """Return whether a path can be reached."""
        return self.local(path) is not None or (
            self._storage is not None and self._storage.has(path)
        )

    def appends(self, path: str) -> bool:
        """Return whether a file can be read, and then grow."""
        return self._files(path).appends

    def check(self, directory: str) -> None:
        """Check that a table's directory exists; on the local disk it may be created later.

        Raises:
            OSError: the file system does not answer, or there is no such directory.
        """
        if self.local(directory) is None:
            self._files(directory).check(directory)

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""
        return self._local.local(path)

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store of a path; None if the path is not on an object store."""
        return self._files(path).object_store(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._files(path).exists(path)

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""
        return self._files(path).is_directory(path)

    def names(self, path: str) -> Sequence[str]:
        """Return the sorted names in a directory; the list is empty if it does not exist."""
        return self._files(path).names(path)

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return self._files(path).size(path)

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""
        return self._files(path).version(path)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._files(path).read(path)

    def write(self, path: str, content: bytes) -> None:
        """Create a file and its parent directories; the file must not exist."""
        self._files(path).write(path, content)

    def begin(self, path: str, content: bytes) -> None:
        """Create a file to append to, and its parent directories; the file must not exist."""
        self._files(path).begin(path, content)

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Append to a file that only one client writes; see ``StorageFiles.append``."""
        self._files(path).append(path, content, offset, sync=sync)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; do nothing if the directory exists."""
        self._files(path).make_directory(path)

    def move(self, source: str, target: str) -> bool:
        """Rename; if the source or the target's parent is missing, do nothing and return False."""
        return self._files(source).move(source, target)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory and its content; the path may be missing."""
        self._files(path).delete(path)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""
        return self._files(path).delete_if_empty(path)

    def _files(self, path: str) -> StorageFiles:
        """Return the file system of a path; by default the local disk, which raises the error."""
        if self.local(path) is None and self._storage is not None and self._storage.has(path):
            return self._storage
        return self._local


def open_storage(storage: Any) -> StorageFiles | None:
    """Return the files of a file system.

    Args:
        storage: pyarrow's ``S3FileSystem``, a client of the package ``hdfs``, or None.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.
    """
    if storage is None:
        return None
    # Imported here because only tables on these file systems need the packages.
    from pyarrow.fs import S3FileSystem  # noqa: PLC0415

    if isinstance(storage, S3FileSystem):
        from acidsql.storage.s3_files import S3Files  # noqa: PLC0415

        return S3Files(storage)
    with suppress(ImportError):  # without the package, no object can be its client
        from hdfs import Client  # noqa: PLC0415

        if isinstance(storage, Client):
            from acidsql.storage.hdfs_files import HdfsFiles  # noqa: PLC0415

            return HdfsFiles(storage)
    raise AcidAnalysisError(
        "INVALID_PARAMETER_VALUE",
        f"storage is {storage!r}: give a client of the package hdfs or a pyarrow.fs.S3FileSystem",
        {"parameter": "storage"},
    )


def no_appends(location: str, transactions: int) -> AcidAnalysisError:
    """Build the error of a batch whose transactions cannot share files.

    Its condition is UNSUPPORTED_FEATURE.STREAMING_BATCH.
    """
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.STREAMING_BATCH",
        f"files at {location} cannot be appended to, and so the {transactions} transactions of a "
        "batch cannot share them: give transaction_batch_size=1",
    )
