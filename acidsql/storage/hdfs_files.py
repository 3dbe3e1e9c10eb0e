"""Files of HDFS over its REST interface (WebHDFS), for programs without Spark and without a JVM.

A data node performs each write, and closes the file at the end of the request. The content is then
visible to all readers, and a client that is killed leaves no lease.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from hdfs import Client, HdfsError

from acidsql.format.paths import parent
from acidsql.storage.directory import FileVersion
from acidsql.storage.local_disk import target_exists

_PLACE = re.compile(r"(?:hdfs|s?webhdfs)://[^/]*(?P<path>/.*)")
# Largest number of characters of an error message.
_MOST_SHOWN = 500
_NOT_FOUND = "FileNotFoundException"
_NOT_EMPTY = "PathIsNotEmptyDirectoryException"
_ERRORS: dict[str | None, type[OSError]] = {
    _NOT_FOUND: FileNotFoundError,
    "FileAlreadyExistsException": FileExistsError,
    "AccessControlException": PermissionError,
    "SecurityException": PermissionError,
    "ParentNotDirectoryException": NotADirectoryError,
}


class HdfsFiles:
    """Operations on paths of HDFS (``hdfs://host:8020/…``), as in ``FileSystem``.

    The client determines the name nodes; the host in a path is ignored.

    Args:
        client: client of the package ``hdfs``.

    Errors of HDFS are raised as ``OSError``.
    """

    appends = True

    def __init__(self, client: Client) -> None:
        self._client = client

    def __repr__(self) -> str:
        return f"WebHDFS at {self._client.url}"

    def has(self, path: str) -> bool:
        """Return whether a path is on HDFS."""
        return _PLACE.fullmatch(path) is not None

    def check(self, directory: str) -> None:
        """Check that the name node answers and that a directory exists."""
        if not self.is_directory(directory):
            raise FileNotFoundError(f"there is no directory {directory}")

    def object_store(self, path: str) -> None:
        """Return None, because HDFS is not an object store."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._type(path) is not None

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""
        return self._type(path) == "DIRECTORY"

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; a missing directory has no names."""
        try:
            with _os_errors(path):
                return tuple(sorted(self._client.list(_place(path))))
        except FileNotFoundError:
            return ()

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        with _os_errors(path):
            return int(self._client.status(_place(path))["length"])

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""
        try:
            with _os_errors(path):
                status = self._client.status(_place(path))
        except FileNotFoundError:
            return None
        if status["type"] == "DIRECTORY":
            return None
        return FileVersion(status["length"], status["modificationTime"])

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        with _os_errors(path), self._client.read(_place(path)) as stream:
            content: bytes = stream.read()
        return content

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""
        with _os_errors(path):
            self._client.write(_place(path), data=content, overwrite=False)

    def begin(self, path: str, content: bytes) -> None:
        """Create a file for later appends, with its parent directories; it must not exist."""
        self.write(path, content)

    def append(self, path: str, content: bytes, offset: int, *, sync: bool = False) -> None:
        """Append to a file without other writers; the content is on the data nodes afterwards.

        Args:
            path: the file.
            content: bytes to append.
            offset: offset of the end of the file.
            sync: ignored.

        Raises:
            OSError: HDFS refused; or the file had another length, and the content is somewhere in
                the file.
        """
        del sync  # data nodes keep closed files
        with _os_errors(path):
            self._client.write(_place(path), data=content, append=True)
        size = self.size(path)
        if size != offset + len(content):
            raise OSError(
                f"{path} has {size} bytes after {len(content)} were appended at {offset}: "
                "somebody else writes to it, or an earlier write was not refused"
            )

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; an existing directory is left unchanged."""
        with _os_errors(path):
            self._client.makedirs(_place(path))

    def move(self, source: str, target: str) -> bool:
        """Rename a file or directory if it exists and the target's parent exists.

        Raises:
            FormatError: PATH_ALREADY_EXISTS, the target exists.
        """
        if not self.exists(source) or not self.exists(parent(target)):
            return False
        if self.exists(target):  # HDFS would move into a directory
            raise target_exists(source, target)
        try:
            with _os_errors(source):
                self._client.rename(_place(source), _place(target))
        except OSError:
            if self.exists(source) and self.exists(parent(target)):
                raise
            return False
        return True

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; it need not exist."""
        with _os_errors(path):
            self._client.delete(_place(path), recursive=True)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""
        try:
            self._client.delete(_place(path), recursive=False)
        except HdfsError as error:
            if error.exception == _NOT_EMPTY:
                return False
            raise _os_error(path, error) from error
        return True

    def _type(self, path: str) -> str | None:
        """Return ``FILE`` or ``DIRECTORY``, or None if the path does not exist."""
        try:
            with _os_errors(path):
                return str(self._client.status(_place(path))["type"])
        except FileNotFoundError:
            return None


def _place(path: str) -> str:
    """Return the path within the file system.

    >>> _place("hdfs://host:8020/a/p=1%2F2"), _place("webhdfs://host:9870/")
    ('/a/p=1%2F2', '/')
    """
    match = _PLACE.fullmatch(path)
    if match is None:
        raise ValueError(f"{path} is no path of HDFS")
    return match["path"]


@contextmanager
def _os_errors(path: str) -> Iterator[None]:
    """Convert errors of HDFS to errors of the operating system."""
    try:
        yield
    except HdfsError as error:
        raise _os_error(path, error) from error


def _os_error(path: str, error: HdfsError) -> OSError:
    kind = _ERRORS.get(error.exception, OSError)
    # Java's stack trace follows the first line, or the message is an HTML page.
    return kind(f"{path}: {str(error.message).splitlines()[0][:_MOST_SHOWN]}")
