"""Packing of row ids into single 64-bit numbers, for joins with delete events.

The bit fields are rounded up to wider ones, so that most snapshots of a table have the same
packing: Spark generates a program for each text of a condition, and Java compiles each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.limits import limits
from acidsql.scan.columns import ORDINAL
from acidsql.storage.delete_files import RowId

# Packed row id of a row that no event can delete; all others are positive.
NONE = -1
_WORD_BITS = 6
# A bucket property of version 1 has two halves: codec version and bucket id, and statement id.
_HALF, _LOW_HALF = BUCKET_SHIFT, (1 << BUCKET_SHIFT) - 1
_VERSION_BITS = VERSION_SHIFT - BUCKET_SHIFT
_VERSION = 1 << _VERSION_BITS


class Range(NamedTuple):
    """Lowest and highest of some numbers."""

    least: int
    greatest: int


class Keys(NamedTuple):
    """Ranges of the parts of the row ids in a delete file, from its statistics."""

    write_ids: Range
    buckets: Range
    row_ids: Range


@dataclass(frozen=True, slots=True)
class Packing:
    """Layout of a packed row id: the ordinal of the partition and the parts of the row id.

    Attributes:
        bits: widths in bits of the ordinal, the write id, the bucket id with the codec version, the
            statement id, and the row id; from the highest field to the lowest.
    """

    bits: tuple[int, ...]

    def sql(self) -> str:
        """Return SQL for the packed row id of an event, a BIGINT; ``NONE`` if no delete event can
        have it.
        """
        ordinal, write_id, bucket, statement, row_id = self.bits
        inside = (
            f"shiftright(originalTransaction, {write_id}) = 0",
            f"shiftright(bucket, {_HALF + bucket}) = {_VERSION >> bucket}",
            f"shiftright(bucket & {_LOW_HALF}, {statement}) = 0",
            f"shiftright(rowId, {row_id}) = 0",
        )
        fields = (
            (write_id, "originalTransaction"),
            (bucket, f"(shiftright(bucket, {_HALF}) - {_VERSION})"),
            (statement, f"(bucket & {_LOW_HALF})"),
            (row_id, "rowId"),
        )
        packed = f"CAST({ORDINAL} AS BIGINT)" if ordinal else "0L"
        for bits, value in fields:
            packed = f"(shiftleft({packed}, {bits}) | {value})" if bits else packed
        return f"IF({' AND '.join(inside)}, {packed}, {NONE}L)"

    def word_sql(self) -> str:
        """Return SQL for the number of the 64-bit word that the packed row id belongs to."""
        return f"shiftright({self.sql()}, {_WORD_BITS})"

    def bit_sql(self) -> str:
        """Return SQL for the position in that word, from 0 to 63."""
        return f"CAST({self.sql()} & {(1 << _WORD_BITS) - 1} AS INT)"


def most_words(files: Iterable[tuple[int, int, Keys | None]]) -> int:
    """Return an upper bound of the number of words that the row ids of delete files take.

    Args:
        files: of each file, the ordinal of its partition, the number of its events, and the ranges
            of their row ids if they are known.
    """
    events: dict[tuple[int, Range, Range], int] = defaultdict(int)
    row_ids: dict[tuple[int, Range, Range], list[Range]] = defaultdict(list)
    total = 0
    for ordinal, number, keys in files:
        if keys is None or any(p.least < p.greatest for p in (keys.write_ids, keys.buckets)):
            total += number
        else:
            place = ordinal, keys.write_ids, keys.buckets
            events[place] += number
            row_ids[place].append(keys.row_ids)
    for place, ranges in row_ids.items():
        least = min(own.least for own in ranges) >> _WORD_BITS
        greatest = max(own.greatest for own in ranges) >> _WORD_BITS
        total += min(events[place], greatest - least + 1)
    return total


def packing_of(files: Sequence[Keys | None], partitions: int) -> Packing | None:
    """Choose the packing of the row ids in delete files.

    Args:
        files: ranges of the row ids of each file, None if not known.
        partitions: number of partitions in the snapshot.

    Returns:
        None if a packed row id would take too many bits, or the ranges of a file are not known.
    """
    greatest = [partitions - 1, 1, 1, 0, 1]
    for keys in files:
        if keys is None:
            return None
        least, most = (RowId(*(part[end] for part in keys)) for end in (0, 1))
        write_id, bucket, statement, row_id = _parts(most)
        if min(_parts(least)) < 0 or bucket >= _VERSION:
            return None
        if least.bucket >> _HALF != most.bucket >> _HALF:
            statement = _LOW_HALF  # the greatest bucket need not have the greatest statement id
        found = (0, write_id, bucket, statement, row_id)
        greatest = [max(pair) for pair in zip(greatest, found, strict=True)]
    needed = [number.bit_length() for number in greatest]
    for step in (8, 4, 1):
        bits = [-(-number // step) * step for number in needed]
        bits[2] = min(bits[2], _VERSION_BITS)
        if sum(bits) <= limits().packed_bits:
            return Packing(tuple(bits))
    return None


def _parts(key: RowId) -> tuple[int, int, int, int]:
    """Return the write id, the bucket id, the statement id and the row id.

    The bucket id is negative if the bucket property is not of codec version 1.
    """
    return key.write_id, (key.bucket >> _HALF) - _VERSION, key.bucket & _LOW_HALF, key.row_id
