"""Ranges of the row ids of files, which show which files may share a row id."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from acidsql.checking.tails import BUCKET, ORIGINAL_WRITE_ID, ROW_ID
from acidsql.format.orc_tail import OrcTail


class Box(NamedTuple):
    """Ranges of the parts of the row ids of a file in a partition.

    Attributes:
        ordinal: ordinal of the partition.
        file: any number that identifies the file.
        write_ids: lowest and highest write id.
        buckets: lowest and highest bucket property.
        row_ids: lowest and highest row id.
        rows: number of rows.
    """

    ordinal: int
    file: int
    write_ids: tuple[int, int]
    buckets: tuple[int, int]
    row_ids: tuple[int, int]
    rows: int

    @property
    def is_dense(self) -> bool:
        """Whether the file has every row id of its ranges, provided that it has no duplicates."""
        is_single = self.write_ids[0] == self.write_ids[1] and self.buckets[0] == self.buckets[1]
        return is_single and self.row_ids[1] - self.row_ids[0] + 1 == self.rows

    def meets(self, other: Box) -> bool:
        """Return whether the two files may share a row id."""
        pairs = (
            (self.write_ids, other.write_ids),
            (self.buckets, other.buckets),
            (self.row_ids, other.row_ids),
        )
        return all(a[0] <= b[1] and b[0] <= a[1] for a, b in pairs)


def box_of(ordinal: int, file: int, tail: OrcTail) -> Box | None:
    """Return the ranges of a file from its statistics; None without rows or statistics."""
    statistics = [tail.file_int_stats(column) for column in (ORIGINAL_WRITE_ID, BUCKET, ROW_ID)]
    ranges = [(one.minimum, one.maximum) for one in statistics if one is not None]
    if len(ranges) < len(statistics):
        return None
    write_ids, buckets, row_ids = ranges
    return Box(ordinal, file, write_ids, buckets, row_ids, tail.rows)


def covered(deleted: Box, dense: Sequence[Box]) -> bool:
    """Return whether dense files contain all rows of a range of delete events.

    The answer is False if the range has several write ids or bucket properties.

    Args:
        deleted: ranges of the row ids of delete events.
        dense: files that contain every row id of their ranges.
    """
    if deleted.write_ids[0] != deleted.write_ids[1] or deleted.buckets[0] != deleted.buckets[1]:
        return False
    next_row_id = deleted.row_ids[0]
    ranges = (b.row_ids for b in dense if b.ordinal == deleted.ordinal and b.meets(deleted))
    for low, high in sorted(ranges):
        if low <= next_row_id:
            next_row_id = max(next_row_id, high + 1)
    return next_row_id > deleted.row_ids[1]


def meeting(boxes: Iterable[Box]) -> list[tuple[Box, Box]]:
    """Return the pairs of files in the same partition that may share a row id."""
    by_partition: Mapping[int, list[Box]] = defaultdict(list)
    for box in boxes:
        by_partition[box.ordinal].append(box)
    return [pair for in_partition in by_partition.values() for pair in _meeting(in_partition)]


def _meeting(boxes: Sequence[Box]) -> list[tuple[Box, Box]]:
    """Return the pairs of one partition, with a sweep over the write ids."""
    pairs: list[tuple[Box, Box]] = []
    active: list[Box] = []
    for box in sorted(boxes, key=lambda b: (b.write_ids, b.file)):
        active = [a for a in active if a.write_ids[1] >= box.write_ids[0]]
        pairs += [(a, box) for a in active if a.meets(box)]
        active.append(box)
    return pairs
