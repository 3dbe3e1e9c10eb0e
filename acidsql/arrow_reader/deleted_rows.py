"""Deleted rows of a snapshot: the row ids of its delete events, by partition."""

from __future__ import annotations

from collections import defaultdict
from threading import Lock

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.arrow_reader.arrays import mask_of, numbers_of
from acidsql.arrow_reader.cached_files import CachedFiles
from acidsql.format.orc_tail import OrcTail
from acidsql.format.selection import needs_row_filter
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.scan.directories import DataDirectory, delete_deltas, delete_files
from acidsql.scan.snapshot import TableSnapshot
from acidsql.storage.delete_files import DELETED_BY
from acidsql.storage.row_id_sets import RowIdSet
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID


class DeletedRows:
    """Deleted rows; those of a partition are read on the first request.

    Any thread may request them.
    """

    def __init__(self, source: CachedFiles, snapshot: TableSnapshot) -> None:
        self._source = source
        self._snapshot = snapshot
        self._lock = Lock()
        self._known: dict[int, RowIdSet] = {}
        self._places: dict[int, list[DataDirectory]] = defaultdict(list)
        for place in delete_deltas(snapshot):
            self._places[place.ordinal].append(place)

    def of(self, ordinal: int) -> RowIdSet:
        """Return the row ids of the deleted rows of a partition.

        Args:
            ordinal: index of the partition in the snapshot.

        Raises:
            FormatError: a delete file is empty or damaged (INVALID_ORC_TAIL, FAILED_READ_FILE).
        """
        with self._lock:
            if ordinal not in self._known:
                places = self._places.get(ordinal, ())
                tables = [table for place in places for table in self._events(place)]
                self._known[ordinal] = RowIdSet.of(tables)
            return self._known[ordinal]

    def _events(self, place: DataDirectory) -> list[pa.Table]:
        write_ids = self._snapshot.write_ids
        partial = needs_row_filter(place.directory, write_ids)
        tables = []
        for path, version, _ in delete_files(self._source, self._snapshot.listings.get(place.path)):
            events = self._source.events.events(path, version)
            if partial:
                events = events.filter(mask_of(are_visible(events[DELETED_BY], write_ids)))
            tables.append(events)
        return tables


def are_visible(
    current: pa.Array | pa.ChunkedArray, write_ids: ValidWriteIdList
) -> npt.NDArray[np.bool_]:
    """Return which values of ``currentTransaction`` are visible to a snapshot, shape (rows,)."""
    numbers = numbers_of(current)
    hidden = np.fromiter((*write_ids.open, *write_ids.aborted), np.int64)
    return (numbers <= write_ids.high_water_mark) & ~np.isin(numbers, hidden)


def may_concern(deleted: RowIdSet, tail: OrcTail) -> bool:
    """Return whether an ACID file can contain deleted rows, by its statistics."""
    write_ids, buckets = (tail.file_int_stats(c) for c in (ORIGINAL_WRITE_ID, BUCKET))
    if write_ids is None or buckets is None:
        return bool(deleted.rows)
    return any(
        write_ids.minimum <= write_id <= write_ids.maximum
        and buckets.minimum <= bucket <= buckets.maximum
        for write_id, bucket in deleted.rows
    )


def is_deleted(deleted: RowIdSet, keys: list[pa.Array]) -> npt.NDArray[np.bool_]:
    """Return which rows are deleted, shape (rows,).

    Args:
        deleted: deleted rows of the partition.
        keys: write ids, bucket properties and row ids of the rows.
    """
    return deleted.contains(*map(numbers_of, keys))
