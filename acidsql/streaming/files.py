"""Files that a streaming client writes: the operations that it needs of a file system, and the file
systems of one client.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.file_moves import FileVersion, ObjectStore
from acidsql.storage.local_files import LocalFiles


class StorageFiles(Protocol):
    """Files of one file system beside the local disk; ``HdfsFiles`` and ``S3Files`` have them.

    Errors are raised as ``OSError``.
    """

    @property
    def appends(self) -> bool:
        """Whether a file can be read, and then grow.

        Otherwise it is there from the first synced ``append`` on, and ends with it.
        """

    def has(self, path: str) -> bool:
        """Return whether a path is of this file system."""

    def check(self, directory: str) -> None:
        """Check that the file system answers and has a table's directory."""

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, sorted; one that does not exist has none."""

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if there is none."""

    def read(self, path: str) -> bytes:
        """Return the content of a file."""

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""

    def begin(self, path: str, content: bytes) -> None:
        """Create a file that is appended to, with its parent directories; it must not exist."""

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Write at the end of a file that one client writes.

        Args:
            offset: of the end of the file.
            sync: whether all of the file has to outlive a failure of the machine from now on.
        """

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; one that exists is left as it is."""

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False without a source or a directory for the target."""

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""


class StreamingFiles:
    """Files of a streaming client: those of the local disk, and of one other file system.

    Args:
        local: of the local disk, where other tables of the metastore may lie.
        storage: of the other file system; None if there is none.
    """

    def __init__(self, local: LocalFiles, storage: StorageFiles | None = None) -> None:
        self._local = local
        self._storage = storage

    @property
    def synchronous(self) -> bool:
        """Whether files of the local disk are synced."""
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
        """Check that a table's directory is there; one of the local disk may be made later.

        Raises:
            OSError: the file system does not answer, or there is no such directory.
        """
        if self.local(directory) is None:
            self._files(directory).check(directory)

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""
        return self._local.local(path)

    def object_store(self, path: str) -> ObjectStore | None:
        """Return the object store that a path is on; None if it is on none."""
        return self._files(path).object_store(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._files(path).exists(path)

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""
        return self._files(path).is_directory(path)

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, sorted; one that does not exist has none."""
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
        """Create a file, with its parent directories; it must not exist."""
        self._files(path).write(path, content)

    def begin(self, path: str, content: bytes) -> None:
        """Create a file that is appended to, with its parent directories; it must not exist."""
        self._files(path).begin(path, content)

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Write at the end of a file that one client writes; see ``StorageFiles.append``."""
        self._files(path).append(path, content, offset, sync=sync)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; one that exists is left as it is."""
        self._files(path).make_directory(path)

    def move(self, source: str, target: str) -> bool:
        """Rename; do nothing and return False without a source or a directory for the target."""
        return self._files(source).move(source, target)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""
        self._files(path).delete(path)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""
        return self._files(path).delete_if_empty(path)

    def _files(self, path: str) -> StorageFiles:
        """Return the file system of a path; what none has, the local disk refuses by its error."""
        if self.local(path) is None and self._storage is not None and self._storage.has(path):
            return self._storage
        return self._local


def open_storage(storage: Any) -> StorageFiles | None:
    """Return the files of a file system.

    Args:
        storage: ``S3FileSystem`` of pyarrow; client of the package ``hdfs``; None: there is none.

    Raises:
        AcidAnalysisError: INVALID_PARAMETER_VALUE.
    """
    if storage is None:
        return None
    # Imported here because only tables that lie there need them.
    from pyarrow.fs import S3FileSystem  # noqa: PLC0415

    if isinstance(storage, S3FileSystem):
        from acidsql.storage.s3_files import S3Files  # noqa: PLC0415

        return S3Files(storage)
    with suppress(ImportError):  # without the package nothing is a client of it
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
    """Return the error of a batch whose transactions cannot share files
    (UNSUPPORTED_FEATURE.STREAMING_BATCH).
    """
    return AcidAnalysisError(
        "UNSUPPORTED_FEATURE.STREAMING_BATCH",
        f"files at {location} cannot be appended to, and so the {transactions} transactions of a "
        "batch cannot share them: give transaction_batch_size=1",
    )
