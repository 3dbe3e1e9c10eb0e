"""File of one bucket in the directory of a batch; it grows with each transaction.

Rows are appended as stripes. ``flush`` appends a tail to the file, and the new length of the file
to the side file. Readers use the last length in the side file as the length of the file
(``OrcAcidUtils.getSideFile``, ``OrcRecordUpdater.flush``).
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.orc as pa_orc

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import footer_items
from acidsql.format.growing_orc import GrowingTail
from acidsql.format.identifiers import lowered
from acidsql.format.names import SIDE_FILE_SUFFIX
from acidsql.format.orc_stripes import HEADER, CopiedStripe, stripe_file, stripes_of
from acidsql.streaming.files import StreamingFiles

# Number of rows that ORC's writer takes at a time.
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
        rows: rows with the columns of the table that are stored in files.
        write_id: write id of the transaction.
        bucket_property: bucket property of the file.
        first_row_id: row id of the first row; the others follow.
    """
    count = len(rows)
    row_ids = pa.array(np.arange(first_row_id, first_row_id + count, dtype=np.int64))
    owner = pa.repeat(pa.scalar(write_id, pa.int64()), count)
    columns = [column.combine_chunks() for column in rows.columns]
    struct = pa.StructArray.from_arrays(
        [pa.concat_arrays(c.chunks) if isinstance(c, pa.ChunkedArray) else c for c in columns],
        fields=[field.with_name(lowered(field.name)) for field in rows.schema],
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
    """Growing file, which is not open between two operations.

    After a failed operation, only ``discard`` and ``close`` may be called.

    Args:
        files: file system of the path.
        path: path of the file, which must not exist.
        codec: compression in lower case, as in the table property ``orc.compress``.
        has_side_file: whether the file can be read while it grows, because it contains rows of
            several transactions.
    """

    def __init__(
        self, files: StreamingFiles, path: str, *, codec: str, has_side_file: bool
    ) -> None:
        self._files = files
        self._path = path
        self._codec = codec
        self._side = path + SIDE_FILE_SUFFIX if has_side_file else None
        self._tail = GrowingTail()
        self._unflushed: list[tuple[CopiedStripe, int, tuple[int, int, int]]] = []
        # Stripes that are written together with the next bytes, because each write to a remote
        # file takes time.
        self._held = b""
        self._last_keys: list[tuple[int, int, int]] = []
        self._end = len(HEADER)
        # After a failed write, the end of the file is unknown.
        self._is_end_known = True
        self._flushed = 0
        self._side_end = _LONG
        if self._side is not None:
            # The side file comes first, so that no reader uses the end of a growing file.
            files.begin(self._side, bytes(_LONG))
        files.begin(path, HEADER)

    @property
    def flushed_length(self) -> int:
        """Length in bytes that readers see; 0 before the first flush."""
        return self._flushed

    @property
    def flushed_rows(self) -> int:
        """Number of flushed rows, including those of aborted transactions."""
        return self._tail.rows

    def append(self, events: pa.Table) -> None:
        """Append insert events of one transaction, in ascending order of row id.

        No reader sees them before ``flush``.
        """
        content = _encoded(events, self._codec)
        source = stripe_file(content, len(content))
        if source is None:
            raise FormatError(
                "INVALID_ORC_TAIL", f"Arrow's writer of ORC keeps no statistics for {self._path}"
            )
        if self._held:
            self._write(b"")
        self._find_end()
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
        self._held = b"".join(parts)

    def discard(self) -> None:
        """Drop the events since the last flush; bytes already written remain as dead bytes."""
        self._unflushed.clear()
        self._held = b""

    def flush(self) -> None:
        """Make the appended events part of the file, and sync it to disk."""
        # If the write fails, the file continues without these stripes.
        tail, last_keys = copy(self._tail), list(self._last_keys)
        for copied, offset, key in self._unflushed:
            tail.add(copied, offset)
            last_keys.append(key)
        self._unflushed.clear()
        self._write_tail(tail, last_keys)
        self._tail, self._last_keys = tail, last_keys
        if self._side is not None:
            note = self._end.to_bytes(_LONG, "big")
            self._files.append(self._side, note, self._side_end, sync=True)
            self._side_end += _LONG

    def close(self) -> None:
        """Finish the file: readers use its actual end from now on. Delete a file without rows.

        If the partition was dropped, or compacted and cleaned, the file no longer exists, and
        nothing is left to do.
        """
        self.discard()
        if not self._flushed:
            self._files.delete(self._path)
        elif not self._files.exists(self._path):
            return
        elif not self._is_end_known or self._end != self._flushed:
            self._write_tail(self._tail, self._last_keys)
        if self._side is not None:
            self._files.delete(self._side)

    def _write_tail(self, tail: GrowingTail, last_keys: Sequence[tuple[int, int, int]]) -> None:
        self._find_end()
        items = footer_items(last_keys, tail.rows, 0)
        self._write(tail.build(self._end + len(self._held), items), sync=True)
        self._flushed = self._end

    def _write(self, content: bytes, *, sync: bool = False) -> None:
        """Write the held bytes, then ``content``."""
        written, self._held = self._held + content, b""
        self._is_end_known = False
        self._files.append(self._path, written, self._end, sync=sync)
        self._end += len(written)
        self._is_end_known = True

    def _find_end(self) -> None:
        if not self._is_end_known:
            self._end = self._files.size(self._path)
            self._is_end_known = True


def _encoded(events: pa.Table, codec: str) -> bytes:
    """Encode events as the bytes of an ORC file."""
    buffer = BytesIO()
    compression = "uncompressed" if codec == "none" else codec
    pa_orc.write_table(events, buffer, compression=compression, batch_size=_ROWS)
    return buffer.getvalue()
