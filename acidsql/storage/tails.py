"""ORC tails of files, and the ACID metadata that is appended to them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple, TypeVar

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.orc_tail import OrcTail, append_metadata, parse_tail, tail_length
from acidsql.limits import limits
from acidsql.storage.filesystem import FileSystem, FileVersion

_Parsed = TypeVar("_Parsed")
# ORC column ids of the ACID columns (Hive: OrcRecordUpdater).
OPERATION, ORIGINAL_WRITE_ID, BUCKET, ROW_ID = 1, 2, 3, 4


def tail_bytes(files: FileSystem, path: str, size: int) -> bytes:
    """Read the last bytes of an ORC file, at least its whole tail; ``size`` is that of the file.

    A tail that says that it is larger than the file is left to its parser.
    """
    first = limits().tail_bytes
    last = files.read(path, max(0, size - first), min(size, first))
    needed = tail_length(last)
    if len(last) < needed <= size:
        last = files.read(path, size - needed, needed)
    return last


def read_tail(files: FileSystem, path: str) -> OrcTail:
    """Read the tail of an ORC file.

    Raises:
        FormatError: errors of ``parse_tail``, with the file's name.
    """
    return parsed(files, path, parse_tail)


def parsed(files: FileSystem, path: str, parse: Callable[[bytes, int], _Parsed]) -> _Parsed:
    """Return the result of ``parse`` for the last bytes of an ORC file and its size.

    Raises:
        FormatError: errors of ``parse``, with the file's name.
    """
    size = files.size(path)
    try:
        return parse(tail_bytes(files, path, size), size)
    except FormatError as error:
        raise FormatError(error.condition, f"{path} cannot be read: {error.message}") from error


class TailCache:
    """LRU cache of the tails of published files.

    A published file never changes. But its table may be dropped and another one made in its place,
    so a file is known by its path and version.
    """

    def __init__(self, files: FileSystem, capacity: int) -> None:
        def read(path: str, _: FileVersion) -> OrcTail:
            return read_tail(files, path)

        self._read = lru_cache(maxsize=capacity)(read)

    def tail(self, path: str, version: FileVersion) -> OrcTail:
        """Return the tail of a published file."""
        return self._read(path, version)


class Stamped(NamedTuple):
    """Finished file.

    Attributes:
        rows: number of its rows or events.
        size: in bytes.
    """

    rows: int
    size: int


def stamp(
    files: FileSystem, path: str, *, row: Sequence[str], deletes: bool, one_writer: bool
) -> Stamped:
    """Append the ACID items of user metadata (``acid_metadata``) to a finished file.

    Args:
        row: names of the table's columns if the file has them beside ``row``, as staged rows do.
        deletes: True if the file holds delete events, False if it holds rows.
        one_writer: True if all rows have one write id and one bucket property, in ascending order
            of row id. Then the last key of a stripe follows from its statistics; otherwise the keys
            are read.
    """
    size = files.size(path)
    last = tail_bytes(files, path, size)
    tail = parse_tail(last, size)
    keys = _keys_from_statistics(tail) if one_writer else last_keys(files, path, len(tail.stripes))
    inserts, removed = (0, tail.rows) if deletes else (tail.rows, 0)
    appended = append_metadata(last, size, footer_items(keys, inserts, removed), row)
    files.append(path, appended)
    return Stamped(rows=tail.rows, size=size + len(appended))


def _keys_from_statistics(tail: OrcTail) -> list[tuple[int, int, int]]:
    """Return the last key of each stripe of one writer's file: its greatest row id."""
    columns = [tail.stripe_int_stats(c) for c in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
    return [(w[1], b[1], r[1]) for w, b, r in zip(*columns, strict=True) if w and b and r]


def last_keys(files: FileSystem, path: str, stripes: int) -> list[tuple[int, int, int]]:
    """Return the last key of each stripe, read from its three key columns."""
    keys = []
    for batch in stripe_keys(files, path, range(stripes)):
        w, b, r = (column[-1].as_py() for column in batch.columns)
        keys.append((w, b, r))
    return keys


def stripe_keys(files: FileSystem, path: str, stripes: Iterable[int]) -> Iterator[pa.RecordBatch]:
    """Yield the key columns of stripes of an ACID file, in the order of a row id's parts.

    Raises:
        FormatError: FAILED_READ_FILE, they are damaged.
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
