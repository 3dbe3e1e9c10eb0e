"""Proof from statistics that files contain all rows of some row ids.

A part of a file is the whole file or a stripe. A part is dense if it has a single write id and
bucket property, and if the number of its rows equals the size of its range of row ids. A file of
one INSERT is dense, and so is each stripe that a compaction has copied.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from acidsql.format.orc_tail import IntStats, OrcTail
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID, ROW_ID


class Dense(NamedTuple):
    """Row ids of a dense part of a file.

    Attributes:
        place: ordinal of the partition, write id and bucket property of all rows.
        least: lowest row id.
        greatest: highest row id.
    """

    place: tuple[int, int, int]
    least: int
    greatest: int


def dense_parts(ordinal: int, tail: OrcTail) -> Iterator[Dense]:
    """Yield the dense parts of a file: the whole file, or otherwise its dense stripes.

    Args:
        ordinal: ordinal of the file's partition.
        tail: tail of the file.
    """
    columns = ORIGINAL_WRITE_ID, BUCKET, ROW_ID
    whole = _dense(ordinal, tail.rows, [tail.file_int_stats(c) for c in columns])
    if whole is not None:
        yield whole
        return
    by_column = (tail.stripe_int_stats(c) for c in columns)
    for stripe, *statistics in zip(tail.stripes, *by_column, strict=True):
        part = _dense(ordinal, stripe.rows, statistics)
        if part is not None:
            yield part


def _dense(ordinal: int, rows: int, statistics: Sequence[IntStats | None]) -> Dense | None:
    write_ids, buckets, row_ids = statistics
    if write_ids is None or buckets is None or row_ids is None:
        return None
    is_single = write_ids.minimum == write_ids.maximum and buckets.minimum == buckets.maximum
    if not is_single or row_ids.maximum - row_ids.minimum + 1 != rows:
        return None
    place = ordinal, write_ids.minimum, buckets.minimum
    return Dense(place, row_ids.minimum, row_ids.maximum)


def are_of(deleted: Sequence[Dense], dense: Sequence[Dense]) -> bool:
    """Return whether dense parts of files cover all row ids of some ranges.

    The result is False if two parts contain the same row id.

    Args:
        deleted: ranges of row ids, at most one for each place.
        dense: row ids of the parts.
    """
    whole: dict[tuple[int, int, int], list[Dense]] = defaultdict(list)
    for file in sorted(dense):
        runs = whole[file.place]
        if runs and file.least <= runs[-1].greatest:
            return False
        if runs and file.least == runs[-1].greatest + 1:
            runs[-1] = runs[-1]._replace(greatest=file.greatest)
        else:
            runs.append(file)
    return all(
        any(o.least <= range_.least and range_.greatest <= o.greatest for o in whole[range_.place])
        for range_ in deleted
    )
