"""ORC tails of files, and the ACID metadata that is appended to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Protocol, TypeVar

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.errors import FormatError
from acidsql.format.orc_tail import OrcTail, parse_tail, tail_length
from acidsql.limits import limits
from acidsql.storage.directory import FileVersion
from acidsql.storage.lru_cache import LruCache
from acidsql.storage.readable_files import ReadableFiles

_Parsed = TypeVar("_Parsed")
# ORC column ids of the ACID columns (Hive: OrcRecordUpdater).
OPERATION, ORIGINAL_WRITE_ID, BUCKET, ROW_ID = 1, 2, 3, 4


def tail_bytes(files: ReadableFiles, path: str, size: int) -> bytes:
    """Read the last bytes of an ORC file of ``size`` bytes, at least its whole tail.

    If a tail claims to be larger than the file, its parser reports the error.
    """
    first = limits().tail_bytes
    last = files.read(path, max(0, size - first), min(size, first), size)
    needed = tail_length(last)
    if len(last) < needed <= size:
        last = files.read(path, size - needed, needed, size)
    return last


def read_tail(files: ReadableFiles, path: str, size: int | None = None) -> OrcTail:
    """Read the tail of an ORC file.

    Args:
        size: size of the file in bytes, if it is known.

    Raises:
        FormatError: errors of ``parse_tail``, with the file's name.
    """
    return parsed(files, path, parse_tail, size)


def parsed(
    files: ReadableFiles,
    path: str,
    parse: Callable[[bytes, int], _Parsed],
    size: int | None = None,
) -> _Parsed:
    """Apply ``parse`` to the last bytes of an ORC file and its size.

    Args:
        size: size of the file in bytes, if it is known.

    Raises:
        FormatError: errors of ``parse``, with the file's name.
    """
    if size is None:
        size = files.size(path)
    try:
        return parse(tail_bytes(files, path, size), size)
    except FormatError as error:
        raise FormatError(error.condition, f"{path} cannot be read: {error.message}") from error


class TailCache:
    """LRU cache of the tails of published files.

    A published file never changes. However, its table can be dropped and another table created in
    its place, so a file is identified by its path and version.

    Args:
        files: file system of the files.
        capacity: largest number of tails to keep.
    """

    def __init__(self, files: ReadableFiles, capacity: int) -> None:
        self._files = files
        self._known: LruCache[OrcTail] = LruCache(capacity)

    def shared_with(self, files: ReadableFiles) -> TailCache:
        """Return a cache that shares these tails, and reads further tails through ``files``."""
        shared = TailCache(files, 0)
        shared._known = self._known
        return shared

    def tail(self, path: str, version: FileVersion) -> OrcTail:
        """Return the tail of a published file, or of its complete part if it is still open."""
        read = partial(read_tail, self._files, path, version.size)
        return self._known.get((path, version), read)


class TailSource(Protocol):
    """Source of the tails of files: an ``AcidSession`` or a reader without Spark."""

    @property
    def tails(self) -> TailCache:
        """Tails of published files."""


def last_keys(files: ReadableFiles, path: str, stripes: int) -> list[tuple[int, int, int]]:
    """Return the last key of each stripe, read from its three key columns."""
    keys = []
    for batch in stripe_keys(files, path, range(stripes)):
        w, b, r = (column[-1].as_py() for column in batch.columns)
        keys.append((w, b, r))
    return keys


def stripe_keys(
    files: ReadableFiles, path: str, stripes: Iterable[int]
) -> Iterator[pa.RecordBatch]:
    """Yield the key columns of stripes of an ACID file, in the order of a row id's parts.

    Raises:
        FormatError: FAILED_READ_FILE, the stripes are damaged.
    """
    with files.open(path) as stream:
        reader = pa_orc.ORCFile(stream)
        names = reader.schema.names
        wanted = [names[c - 1] for c in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
        for stripe in stripes:
            try:
                batch = reader.read_stripe(stripe, columns=wanted)
            except (OSError, pa.ArrowException) as error:
                raise FormatError(
                    "FAILED_READ_FILE", f"{path} cannot be read: {error}", {"path": path}
                ) from error
            yield batch.select(wanted)
