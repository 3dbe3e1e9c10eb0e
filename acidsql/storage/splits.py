"""Parts of files that the tasks of a scan read, and their encoding for the reader.

The reader's class ``Splits`` decodes them.
"""

from __future__ import annotations

import struct
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Generic, TypeVar

from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.valid_lists import ValidWriteIdList

_T = TypeVar("_T", bound=Hashable)


# Lower than all write ids, including the write id of original files.
_NONE = -(1 << 63)


class FileKind(IntEnum):
    """Kinds of files, with the numbers that the reader uses."""

    EVENTS = 0
    ORIGINAL = 1
    PLAIN = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteFile:
    """Delete file with events that can name rows of other files.

    Attributes:
        path: qualified path.
        length: size in bytes.
        modified: modification time that the file system reports.
        events: number of events.
        bounds: lowest and highest write id, bucket property and row id of the rows that the events
            name; () if they are not known.
    """

    path: str
    length: int
    modified: int
    events: int
    bounds: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowIds:
    """Row ids of the rows of an original file.

    Attributes:
        write_id: write id of all rows.
        bucket: bucket property of all rows.
        first: row id of the first row.
    """

    write_id: int
    bucket: int
    first: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DataFile:
    """File with rows of a table.

    Attributes:
        kind: kind of the file.
        path: qualified path.
        length: number of bytes to read.
        columns: number of the table's columns that the file can have.
        ordinal: index of the file's partition.
        visible: write ids of the rows that count; None if all rows count.
        deletes: delete files that can name rows of this file.
        deleters: write ids whose delete events count; None without ``deletes``.
        own_rows_only: whether a delete event counts only if the row has the event's write id.
        row_ids: row ids of an original file, None for other files.
    """

    kind: FileKind
    path: str
    length: int
    columns: int
    ordinal: int
    visible: ValidWriteIdList | None = None
    deletes: tuple[DeleteFile, ...] = ()
    deleters: ValidWriteIdList | None = None
    own_rows_only: bool = False
    row_ids: RowIds | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """Part of a file: the stripes that begin in a range of bytes from ``start`` on."""

    file: DataFile
    start: int
    length: int


def split_size(sizes: Sequence[int], *, tasks: int, most: int, open_cost: int) -> int:
    """Return the largest part of a file in bytes, computed as in Spark (``FilePartition``).

    Args:
        sizes: sizes of the files in bytes.
        tasks: number of tasks that run in parallel.
        most: largest part in bytes that the session allows.
        open_cost: cost of opening a file, in bytes.
    """
    counted = sum(sizes) + open_cost * len(sizes)
    return min(most, max(open_cost, counted // max(tasks, 1)))


def plan_tasks(files: Sequence[DataFile], size: int, open_cost: int) -> list[list[Part]]:
    """Split files into parts, and assign the parts to tasks, the largest first, as Spark does.

    Args:
        files: files to read.
        size: largest part in bytes.
        open_cost: cost of opening a file, in bytes.
    """
    parts = sorted(_cut(files, size), key=lambda part: -part.length)
    tasks: list[list[Part]] = []
    room = 0
    for part in parts:
        if part.length > room or not tasks:
            tasks.append([])
            room = size
        tasks[-1].append(part)
        room -= part.length + open_cost
    return tasks


def _cut(files: Sequence[DataFile], size: int) -> Iterator[Part]:
    for file in files:
        for start in range(0, file.length, size):
            yield Part(file, start, min(size, file.length - start))


@dataclass(slots=True)
class _Numbers(Generic[_T]):
    """Numbers of the objects that several parts share, in the order of their first use."""

    known: dict[_T, int] = field(default_factory=dict)

    def of(self, thing: _T) -> int:
        return self.known.setdefault(thing, len(self.known))


def encode(tasks: Sequence[Sequence[Part]], *, keeps_deletes: bool) -> bytes:
    """Encode the parts that each task reads.

    Args:
        tasks: parts of each task.
        keeps_deletes: whether executors may keep delete events for other tasks.
    """
    lists: _Numbers[ValidWriteIdList] = _Numbers()
    deletes: _Numbers[tuple[DeleteFile, ...]] = _Numbers()
    body = [_int(len(tasks))]
    for task in tasks:
        body.append(_int(len(task)))
        body += [_part(part, lists, deletes, keeps_deletes=keeps_deletes) for part in task]
    head = [_int(len(lists.known)), *map(_write_ids, lists.known), _int(len(deletes.known))]
    for files in deletes.known:
        head += [_int(len(files)), *map(_delete_file, files)]
    return b"".join([*head, *body])


def _part(
    part: Part,
    lists: _Numbers[ValidWriteIdList],
    deletes: _Numbers[tuple[DeleteFile, ...]],
    *,
    keeps_deletes: bool,
) -> bytes:
    file = part.file
    made = [
        struct.pack(">b", file.kind),
        _text(file.path),
        struct.pack(">qqq", file.length, part.start, part.length),
        _int(file.columns),
        _int(file.ordinal),
        _int(-1 if file.visible is None else lists.of(file.visible)),
    ]
    if file.deletes and file.deleters is not None:
        made += [_int(deletes.of(file.deletes)), _int(lists.of(file.deleters))]
        made.append(struct.pack(">??", keeps_deletes, file.own_rows_only))
    else:
        made.append(_int(-1))
    if file.row_ids is not None:
        made.append(
            struct.pack(">qiq", file.row_ids.write_id, file.row_ids.bucket, file.row_ids.first)
        )
    return b"".join(made)


def _write_ids(write_ids: ValidWriteIdList) -> bytes:
    hidden = sorted(write_ids.open | write_ids.aborted)
    above, earlier = _NONE, frozenset[int]()
    if isinstance(write_ids, ChangedWriteIds):
        above, earlier = write_ids.above, write_ids.earlier
    shown = struct.pack(">q", write_ids.high_water_mark) + _longs(hidden)
    return shown + struct.pack(">q", above) + _longs(sorted(earlier))


def _delete_file(file: DeleteFile) -> bytes:
    numbers = struct.pack(">qqq", file.length, file.modified, file.events)
    return _text(file.path) + numbers + _longs(file.bounds)


def _int(value: int) -> bytes:
    return struct.pack(">i", value)


def _longs(values: Sequence[int]) -> bytes:
    return struct.pack(f">i{len(values)}q", len(values), *values)


def _text(text: str) -> bytes:
    encoded = text.encode()
    return _int(len(encoded)) + encoded


def encode_partitions(values: Sequence[Sequence[str | None]]) -> bytes:
    """Encode the values of the partitions of a table.

    Args:
        values: texts of each partition, in the order of the partition columns; None for NULL.
    """
    made = [_int(len(values))]
    for texts in values:
        made += [_int(-1) if text is None else _text(text) for text in texts]
    return b"".join(made)
