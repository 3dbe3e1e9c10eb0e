"""Files of the local disk alone, for programs without Spark; ``FileSystem`` has all others too."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from acidsql.errors import FormatError
from acidsql.storage import local_disk


class _Version(NamedTuple):
    size: int
    modified: int


class LocalFiles:
    """Operations on paths of the local disk (``file:/…``), with the meaning that ``FileSystem``
    gives them.

    Args:
        synchronous: whether ``sync`` writes through to the disk.
    """

    def __init__(self, *, synchronous: bool = True) -> None:
        self.synchronous = synchronous

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""
        return local_disk.local_path(path)

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        return self._required(path).exists()

    def names(self, path: str) -> tuple[str, ...]:
        """Return the names in a directory, sorted; one that does not exist has none."""
        try:
            return tuple(sorted(one.name for one in self._required(path).iterdir()))
        except FileNotFoundError:
            return ()

    def read(self, path: str) -> bytes:
        """Return the content of a file."""
        return self._required(path).read_bytes()

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""
        local = self._required(path)
        local.parent.mkdir(parents=True, exist_ok=True)
        with local.open("xb") as stream:
            stream.write(content)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; one that exists is left as it is."""
        self._required(path).mkdir(parents=True, exist_ok=True)

    def move(self, source: str, target: str) -> bool:
        """Rename a file or directory, if it is there and the target's parent is too.

        A directory takes the place of an empty one in the same step.

        Raises:
            FormatError: PATH_ALREADY_EXISTS, the target exists otherwise.
        """
        try:
            return local_disk.move(self._required(source), self._required(target))
        except FileExistsError as error:
            raise local_disk.target_exists(source, target) from error

    def version(self, path: str) -> _Version | None:
        """Return the size and time of modification of a file, or None if there is none."""
        local = self._required(path)
        try:
            found = local.stat()
        except FileNotFoundError:
            return None
        return None if local.is_dir() else _Version(found.st_size, found.st_mtime_ns)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with all that is in it; it may be gone."""
        local_disk.delete(self._required(path))

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it does not exist any more."""
        return local_disk.delete_if_empty(self._required(path))

    def _required(self, path: str) -> Path:
        local = self.local(path)
        if local is None:
            raise FormatError(
                "UNSUPPORTED_FEATURE.STREAMING_LOCATION",
                f"{path} is not on the local disk, where alone a streaming client can write: "
                "write to this table by statements",
            )
        return local
