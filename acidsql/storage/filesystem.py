"""File system: operations on files and directories on all stores of Spark's tables.

Python itself lists, reads and writes the local file system. This avoids calls into the JVM and the
checksum files that Hadoop keeps next to local files. All other file systems go through Hadoop.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.bridge import object_files
from acidsql.errors import FormatError
from acidsql.format.paths import can_exist, parent
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.storage import local_disk
from acidsql.storage.directory import (
    FileVersion,
    Listing,
    by_store,
    child,
    list_local,
    listing_of,
)
from acidsql.storage.local_disk import local_path, target_exists
from acidsql.storage.object_store import ObjectStoreFiles
from acidsql.storage.parallel import in_parallel
from acidsql.storage.range_reader import open_ranges

__all__ = ["FilePart", "FileSystem", "FileVersion", "Listing", "check_free", "child"]


def check_free(files: FileSystem, source: str, target: str) -> None:
    """Check that a directory can be moved to a place; an empty directory there is deleted.

    Raises:
        FormatError: PATH_ALREADY_EXISTS.
    """
    if files.exists(target) and not files.delete_if_empty(target):
        raise target_exists(source, target)


class FilePart(NamedTuple):
    """Part of a file: its path, the offset of the first byte, and the number of bytes."""

    path: str
    start: int
    length: int


class FileSystem(ObjectStoreFiles):
    """Operations on qualified paths (``file:/…``, ``hdfs://…``).

    Args:
        spark: the session.
        synchronous: whether ``sync`` writes local files through to the disk.
        object_stores: schemes of stores whose renames are copies.
    """

    def __init__(
        self,
        spark: SparkSession,
        *,
        synchronous: bool = True,
        object_stores: Collection[str] = (),
    ) -> None:
        super().__init__(spark, object_stores)
        self.synchronous = synchronous

    def local(self, path: str) -> Path | None:
        """Return a path on the local disk, None if it is on another file system."""
        return local_path(path)

    def qualify(self, path: str) -> str:
        """Return the path with its scheme and authority.

        Raises:
            AcidAnalysisError: INVALID_LOCATION, the path is not valid.
        """
        self._prepare(path)
        try:
            qualified = bridge.qualified_path(self.spark, path, self._conf)
        except OSError as error:
            raise failures.invalid_location(path, str(error)) from error
        if not can_exist(qualified):
            raise failures.invalid_location(
                path, "a name in it is too long, or has a character NUL"
            )
        return qualified

    def exists(self, path: str) -> bool:
        """Return whether a file or directory exists."""
        local = local_path(path)
        if local is not None:
            return local.exists()
        filesystem, java_path = self.hadoop_path(path)
        return bridge.path_exists(filesystem, java_path)

    def is_directory(self, path: str) -> bool:
        """Return whether a path is an existing directory."""
        local = local_path(path)
        if local is not None:
            return local.is_dir()
        filesystem, java_path = self.hadoop_path(path)
        return bridge.is_directory(filesystem, java_path)

    def list(self, path: str) -> Listing:
        """List a directory; the listing of a missing directory is empty."""
        return self.list_all([path])[0]

    def list_all(self, paths: Sequence[str]) -> Sequence[Listing]:
        """List directories; directories of one remote file system are listed together."""
        listed = {path: list_local(path, local) for path in paths if (local := local_path(path))}
        remote = [path for path in paths if path not in listed]
        for group in by_store(remote).values():
            listed.update(self._list_remote(group))
        return [listed[path] for path in paths]

    def _list_remote(self, paths: Sequence[str]) -> Mapping[str, Listing]:
        """List directories of one file system with a few calls for all directories."""
        if len(paths) > 1 and self.is_object_store(paths[0]):
            return dict(zip(paths, in_parallel(self.list, paths), strict=True))
        entries = bridge.list_paths(self.spark, self.hadoop_path(paths[0])[0], paths)
        if len(paths) == 1:
            return {paths[0]: listing_of(paths[0], entries)}
        places: dict[str, list[bridge.ListedPath]] = {path: [] for path in paths}
        for one in entries or ():
            places.setdefault(one.path.rpartition("/")[0], []).append(one)
        # A directory does not exist, or the file system spells the paths differently.
        if entries is None or len(places) > len(paths):
            return {path: self.list(path) for path in paths}
        return {path: listing_of(path, below) for path, below in places.items()}

    def names(self, path: str) -> Sequence[str]:
        """Return the names in a directory, sorted; a missing directory has no names."""
        return self.list(path).names

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        local = local_path(path)
        if local is not None:
            return local.stat().st_size
        filesystem, java_path = self.hadoop_path(path)
        return bridge.file_size(filesystem, java_path)

    def read(
        self, path: str, start: int = 0, length: int | None = None, size: int | None = None
    ) -> bytes:
        """Read ``length`` bytes of a file from ``start``, by default to its end.

        Args:
            path: the file.
            start: offset of the first byte.
            length: number of bytes; None for the rest of the file.
            size: size of the file, if it is known.
        """
        local = local_path(path)
        if local is not None:
            with local.open("rb") as stream:
                stream.seek(start)
                return stream.read() if length is None else stream.read(length)
        filesystem, java_path = self.hadoop_path(path)
        wanted = self.size(path) - start if length is None else length
        if size is not None and self.is_object_store(path):
            return object_files.read_bytes_of(
                self.spark, filesystem, java_path, start, wanted, size
            )
        return bridge.read_bytes(self.spark, filesystem, java_path, start, wanted)

    def open(self, path: str) -> BinaryIO:
        """Open a file as a seekable stream, which fetches only the used parts of a remote file."""
        local = local_path(path)
        if local is not None:
            return local.open("rb")
        size = self.size(path)
        return open_ranges(partial(self.read, path, size=size), size)

    def write(self, path: str, content: bytes) -> None:
        """Create a file, with its parent directories; it must not exist."""
        local = local_path(path)
        if local is not None:
            local.parent.mkdir(parents=True, exist_ok=True)
            with local.open("xb") as stream:
                stream.write(content)
            return
        filesystem, java_path = self.hadoop_path(path)
        bridge.write_bytes(filesystem, java_path, content)

    def put(self, path: str, content: bytes) -> None:
        """Create a file in a directory that only the transaction of the caller writes to.

        On an object store, an existing file is replaced, because checking for it would take
        additional requests. On other file systems the file must not exist.
        """
        if not self.is_object_store(path):
            self.write(path, content)
            return
        filesystem, java_path = self.hadoop_path(path)
        object_files.put_bytes(filesystem, java_path, content)

    def append(self, path: str, content: bytes) -> None:
        """Append to a file, on a store that supports appending.

        A local file loses the checksum file that Hadoop wrote for its old content.
        """
        local = local_path(path)
        if local is not None:
            local.with_name(f".{local.name}.crc").unlink(missing_ok=True)
            with local.open("ab") as stream:
                stream.write(content)
            return
        filesystem, java_path = self.hadoop_path(path)
        bridge.append_bytes(filesystem, java_path, content)

    def make_directory(self, path: str) -> None:
        """Create a directory and its parents; an existing directory is left unchanged."""
        local = local_path(path)
        if local is not None:
            local.mkdir(parents=True, exist_ok=True)
            return
        filesystem, java_path = self.hadoop_path(path)
        bridge.make_directories(filesystem, java_path)

    def rename(self, source: str, target: str) -> None:
        """Rename a file or directory; the parent of the target is created.

        Raises:
            FormatError: PATH_ALREADY_EXISTS, the target exists (HDFS would move into a directory);
                RENAME_FAILED.
        """
        if self.exists(target):
            raise target_exists(source, target)
        old, new = local_path(source), local_path(target)
        if old is not None and new is not None:
            new.parent.mkdir(parents=True, exist_ok=True)
            old.rename(new)
            # Directories have no checksum files, and their names may already have the full length.
            if not new.is_dir():
                old.with_name(f".{old.name}.crc").unlink(missing_ok=True)
            return
        filesystem, java_source = self.hadoop_path(source)
        java_target = self.hadoop_path(target)[1]
        if not bridge.rename_path(filesystem, java_source, java_target):
            raise _rename_failed(source, target)

    def move(self, source: str, target: str) -> bool:
        """Rename a file or directory if it exists and the target's parent exists.

        On the local disk, a directory atomically replaces an empty directory.

        Returns:
            False if the source or the target's parent does not exist, so that nothing was done.

        Raises:
            FormatError: PATH_ALREADY_EXISTS, the target exists and cannot be replaced;
                RENAME_FAILED.
        """
        old, new = local_path(source), local_path(target)
        if old is not None and new is not None:
            try:
                return local_disk.move(old, new)
            except FileExistsError as error:
                raise target_exists(source, target) from error
        above = parent(target)
        if not self.exists(source) or not self.exists(above):
            return False
        if self.exists(target):
            raise target_exists(source, target)
        filesystem, java_source = self.hadoop_path(source)
        if bridge.rename_below(filesystem, java_source, self.hadoop_path(target)[1]):
            return True
        if self.exists(source) and self.exists(above):
            raise _rename_failed(source, target)
        return False

    def replace(self, source: str, target: str) -> None:
        """Rename a file so that it atomically replaces another file."""
        old, new = local_path(source), local_path(target)
        if old is not None and new is not None:
            old.replace(new)
            return
        bridge.replace_path(self.spark, self.hadoop_path(source), self.hadoop_path(target)[1])

    def version(self, path: str) -> FileVersion | None:
        """Return the version of a file, or None if the file does not exist."""
        return self.list(parent(path)).files.get(path.rpartition("/")[2])

    def link(self, source: str, target: str) -> None:
        """Create a file with the same content; the target must not exist.

        On a local disk this is a hard link if possible; otherwise the file is copied.
        """
        old, new = local_path(source), local_path(target)
        if old is not None and new is not None:
            new.parent.mkdir(parents=True, exist_ok=True)
            # Links between file systems fail, and some file systems refuse links to files of other
            # users.
            with suppress(OSError):
                os.link(old, new)
                return
        self.copy(source, target)

    def copy(self, source: str, target: str) -> None:
        """Copy a file, also from one file system to another; the target must not exist."""
        old, new = local_path(source), local_path(target)
        if old is None or new is None:
            source_path, target_path = self.hadoop_path(source), self.hadoop_path(target)
            bridge.copy_file(self.spark, source_path, target_path)
            return
        new.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(old, new)

    def assemble(self, target: str, head: bytes, parts: Sequence[FilePart], tail: bytes) -> None:
        """Create a file from some bytes, parts of other files, and more bytes.

        The file must not exist.

        Raises:
            FormatError: FILE_TOO_SHORT, a file is shorter than its part.
        """
        new, sources = local_path(target), [local_path(part.path) for part in parts]
        if new is None or None in sources:
            bridge.assemble_file(
                self.spark,
                self.hadoop_path(target),
                head,
                [(*self.hadoop_path(p.path), p.start, p.length) for p in parts],
                tail,
                put=self.is_object_store(target),
            )
        else:
            new.parent.mkdir(parents=True, exist_ok=True)
            with new.open("xb") as written:
                written.write(head)
                for part, source in zip(parts, sources, strict=True):
                    _copy_part(cast(Path, source), part, written)
                written.write(tail)
        expected = len(head) + sum(part.length for part in parts) + len(tail)
        if self.size(target) != expected:
            raise FormatError(
                "FILE_TOO_SHORT",
                f"{target} has {self.size(target)} bytes instead of {expected}, because a file "
                "that was copied into it has changed: run the statement again",
            )

    def same(self, one: str, other: str) -> bool:
        """Return whether two paths are on one file system, so that a rename is possible."""
        first, second = self.hadoop_path(one)[0], self.hadoop_path(other)[0]
        return bridge.is_same_file_system(first, second)

    def delete(self, path: str) -> None:
        """Delete a file, or a directory with its contents; a missing path is not an error."""
        local = local_path(path)
        if local is not None:
            local_disk.delete(local)
        else:
            super().delete(path)

    def delete_if_empty(self, path: str) -> bool:
        """Delete a directory if it is empty; return whether it no longer exists."""
        local = local_path(path)
        if local is not None:
            return local_disk.delete_if_empty(local)
        filesystem, java_path = self.hadoop_path(path)
        return bridge.delete_if_empty(filesystem, java_path)


def _rename_failed(source: str, target: str) -> FormatError:
    return FormatError(
        "RENAME_FAILED",
        f"the file system refused to rename {source} to {target}: check its permissions",
    )


def _copy_part(source: Path, part: FilePart, written: BinaryIO) -> None:
    with source.open("rb") as stream:
        stream.seek(part.start)
        left = part.length
        while left and (content := stream.read(min(left, limits().copy_buffer_bytes))):
            written.write(content)
            left -= len(content)
