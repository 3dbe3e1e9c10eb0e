"""Files of S3 through Arrow's client, for programs without Spark and without a JVM.

S3 has no directories, and files cannot be appended to. A file is uploaded part by part, and appears
as a whole when the upload ends.
"""

from __future__ import annotations

import io
import re
from typing import Any

from pyarrow import fs

from acidsql.storage.directory import FileVersion

_PLACE = re.compile(r"s3[an]?://(?P<path>[^/]+(?:/.*)?)")
_NANOSECONDS = 1_000_000  # in a millisecond, which Hadoop counts


class S3Files:
    """Operations on paths of S3 (``s3a://bucket/…``), as in ``FileSystem``.

    Args:
        client: Arrow's client.

    Errors of S3 are raised as ``OSError``.
    """

    appends = False

    def __init__(self, client: fs.S3FileSystem) -> None:
        self._client = client
        self._uploads: dict[str, Any] = {}

    def has(self, path: str) -> bool:
        """Return whether a path is on S3."""
        return _PLACE.fullmatch(path) is not None

    def check(self, directory: str) -> None:
        """Check that S3 answers and that the bucket exists; empty directories do not exist."""
        bucket = _place(directory).partition("/")[0]
        if self._client.get_file_info(bucket).type is not fs.FileType.Directory:
            raise FileNotFoundError(f"there is no bucket {bucket}")

    def object_store(self, path: str) -> S3Files:
        """Return ``self``, because all paths are on one object store."""
        del path
        return self

    def delete_objects(self, path: str) -> None:
        """Delete the present files of a directory, but no files that are created later."""
        for entry in self._below(path, recursive=True):
            if entry.type is fs.FileType.File:
                self._client.delete_file(entry.path)

    def exists(self, path: str) -> bool:
        """Return whether a path is a file, or a directory with files below it."""
        return self._info(path).type is not fs.FileType.NotFound

    def is_directory(self, path: str) -> bool:
        """Return whether there are files below a path."""
        return self._info(path).type is fs.FileType.Directory

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; a missing directory has no names."""
        return tuple(sorted(entry.base_name for entry in self._below(path)))

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        info = self._info(path)
        if info.type is not fs.FileType.File:
            raise FileNotFoundError(f"there is no file {path}")
        return int(info.size)

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""
        info = self._info(path)
        if info.type is not fs.FileType.File:
            return None
        return FileVersion(info.size, info.mtime_ns // _NANOSECONDS)

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with self._client.open_input_stream(_place(path)) as stream:
            content: bytes = stream.read()
        return content

    def write(self, path: str, content: bytes) -> None:
        """Create a file; it must not exist."""
        if self.exists(path):
            raise FileExistsError(f"{path} exists")
        with self._client.open_output_stream(_place(path)) as stream:
            stream.write(content)

    def begin(self, path: str, content: bytes) -> None:
        """Begin to upload a file that must not exist; a synced ``append`` makes it visible."""
        if self.exists(path):
            raise FileExistsError(f"{path} exists")
        self._uploads[path] = self._client.open_output_stream(_place(path))
        self._uploads[path].write(content)

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Upload more content of a file.

        Args:
            path: the file.
            content: bytes to upload.
            offset: number of bytes that were uploaded before.
            sync: whether to end the upload after this content.
        """
        if path not in self._uploads:
            raise io.UnsupportedOperation(f"{path} is on S3, which appends to no file")
        stream = self._uploads[path]
        if stream.tell() != offset:
            raise OSError(f"{path} has {stream.tell()} bytes instead of {offset}")
        stream.write(content)
        if sync:
            del self._uploads[path]
            stream.close()

    def make_directory(self, path: str) -> None:
        """Do nothing, because a directory exists if there are files below it."""

    def move(self, source: str, target: str) -> bool:
        """Refuse, because a rename would be a copy, and readers could see an incomplete copy."""
        raise io.UnsupportedOperation(f"{source} cannot be renamed to {target} on S3")

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""
        upload = self._uploads.pop(path, None)
        if upload is not None:
            upload.close()  # Arrow cannot abort an upload
        info = self._info(path)
        if info.type is fs.FileType.File:
            self._client.delete_file(info.path)
        elif info.type is fs.FileType.Directory:
            self._client.delete_dir(info.path)

    def delete_if_empty(self, path: str) -> bool:
        """Return whether there is no file below a directory, which then does not exist."""
        return not self.names(path)

    def _info(self, path: str) -> fs.FileInfo:
        return self._client.get_file_info(_place(path))

    def _below(self, path: str, *, recursive: bool = False) -> list[fs.FileInfo]:
        selector = fs.FileSelector(_place(path), allow_not_found=True, recursive=recursive)
        entries: list[fs.FileInfo] = self._client.get_file_info(selector)
        return entries


def _place(path: str) -> str:
    """Return the bucket and the key.

    >>> _place("s3a://bucket/t/p=1%2F2"), _place("s3://bucket")
    ('bucket/t/p=1%2F2', 'bucket')
    """
    match = _PLACE.fullmatch(path)
    if match is None:
        raise ValueError(f"{path} is no path of S3")
    return match["path"].rstrip("/")
