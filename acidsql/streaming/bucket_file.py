"""File of one bucket in the directory of a batch, which grows with each transaction.

Rows are appended as stripes. ``flush`` appends a tail, and the length up to there to the side file:
readers take the last length in it for the length of the file (``OrcAcidUtils.getSideFile``,
``OrcRecordUpdater.flush``).
"""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.growing_orc import GrowingTail
from acidsql.format.names import SIDE_FILE_SUFFIX
from acidsql.format.orc_stripes import HEADER, CopiedStripe, stripe_file, stripes_of

# Rows that ORC's writer takes at a time.
_ROWS = 16_384
_LONG = 8
_EVENT_NAMES = (
    "operation",
    "originalTransaction",
    "bucket",
    "rowId",
    "currentTransaction",
    "row",
)


def insert_events(
    rows: pa.Table, write_id: int, bucket_property: int, first_row_id: int
) -> pa.Table:
    """Return the insert events of rows.

    Args:
        rows: with the columns of the table that are in files.
        write_id: of the transaction.
        bucket_property: of the file.
        first_row_id: row id of the first row; the others follow.
    """
    count = len(rows)
    row_ids = pa.array(range(first_row_id, first_row_id + count), pa.int64())
    owner = pa.repeat(pa.scalar(write_id, pa.int64()), count)
    columns = [column.combine_chunks() for column in rows.columns]
    struct = pa.StructArray.from_arrays(
        [pa.concat_arrays(c.chunks) if isinstance(c, pa.ChunkedArray) else c for c in columns],
        fields=list(rows.schema),
    )
    values = [
        pa.repeat(pa.scalar(0, pa.int32()), count),
        owner,
        pa.repeat(pa.scalar(bucket_property, pa.int32()), count),
        row_ids,
        owner,
        struct,
    ]
    return pa.table(values, names=_EVENT_NAMES)


class BucketFile:
    """Growing file on the local disk; it is closed between two operations.

    Args:
        path: of the file, which must not exist.
        codec: compression in lower case, as in the table property ``orc.compress``.
        has_side_file: whether it may be read while it grows, because it has rows of several
            transactions.
        synchronous: whether ``flush`` writes through to the disk.
    """

    def __init__(
        self, path: Path, *, codec: str, has_side_file: bool, synchronous: bool = True
    ) -> None:
        self._path = path
        self._codec = codec
        self._side = path.with_name(path.name + SIDE_FILE_SUFFIX) if has_side_file else None
        self._synchronous = synchronous
        self._tail = GrowingTail()
        self._unflushed: list[tuple[CopiedStripe, int, tuple[int, int, int]]] = []
        self._last_keys: list[tuple[int, int, int]] = []
        self._end = 0
        self._flushed = 0
        if self._side is not None:
            # First of all, so that nobody takes the end of a growing file for its end.
            self._append(self._side, bytes(_LONG), new=True)
        self._append(path, HEADER, new=True)
        self._end = len(HEADER)

    @property
    def flushed_length(self) -> int:
        """Length in bytes that readers see; 0 before the first flush."""
        return self._flushed

    @property
    def flushed_rows(self) -> int:
        """Number of rows that readers see, of aborted transactions too."""
        return self._tail.rows

    def append(self, events: pa.Table) -> None:
        """Append insert events of one transaction, in ascending order of row id; nobody sees them
        before ``flush``.
        """
        content = _encoded(events, self._codec)
        source = stripe_file(content, len(content))
        if source is None:
            raise FormatError(
                "INVALID_ORC_TAIL", f"Arrow's writer of ORC keeps no statistics for {self._path}"
            )
        last = -1
        parts = []
        position = self._end
        for copied in stripes_of(source):
            stripe = copied.stripe
            last += stripe.rows
            key = tuple(events[name][last].as_py() for name in _EVENT_NAMES[1:4])
            self._unflushed.append((copied, position, (key[0], key[1], key[2])))
            parts.append(content[stripe.offset : stripe.offset + copied.length])
            position += copied.length
        self._append(self._path, b"".join(parts))
        self._end = position

    def discard(self) -> None:
        """Forget what was appended since the last flush; it stays as dead bytes."""
        self._unflushed.clear()

    def flush(self) -> None:
        """Make what was appended a part of the file, on the disk."""
        for copied, offset, key in self._unflushed:
            self._tail.add(copied, offset)
            self._last_keys.append(key)
        self._unflushed.clear()
        self._write_tail()

    def close(self) -> None:
        """End the file: readers take its end from now on. A file without rows is deleted.

        Somebody may have dropped its partition, or compacted and cleaned it: then nothing is left
        to do.
        """
        self.discard()
        if not self._path.exists():
            return
        if not self._flushed:
            self._path.unlink(missing_ok=True)
        elif self._end != self._flushed:
            self._write_tail()
        if self._side is not None:
            self._side.unlink(missing_ok=True)

    def _write_tail(self) -> None:
        items = footer_items(self._last_keys, self._tail.rows, 0)
        tail = self._tail.build(self._end, items)
        self._append(self._path, tail, sync=True)
        self._end += len(tail)
        self._flushed = self._end
        if self._side is not None:
            self._append(self._side, self._end.to_bytes(_LONG, "big"), sync=True)

    def _append(self, path: Path, content: bytes, *, new: bool = False, sync: bool = False) -> None:
        with path.open("xb" if new else "r+b") as stream:
            if path == self._path:
                # What a failed write may have left behind the end is overwritten.
                stream.seek(self._end)
            elif not new:
                stream.seek(0, os.SEEK_END)
            stream.write(content)
            stream.truncate()
            stream.flush()
            if sync and self._synchronous:
                os.fsync(stream.fileno())


def _encoded(events: pa.Table, codec: str) -> bytes:
    """Return the bytes of an ORC file with events."""
    buffer = BytesIO()
    compression = "uncompressed" if codec == "none" else codec
    pa_orc.write_table(events, buffer, compression=compression, batch_size=_ROWS)
    return buffer.getvalue()
