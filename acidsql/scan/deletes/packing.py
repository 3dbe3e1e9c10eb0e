"""Row ids as single numbers, and their neighbours as the bits of a word.

A number is made of bit fields that are wider than they need be, so that most snapshots of a table
have the same: Spark compiles a program for each text of a filter, and Java compiles it again.
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

# Of a row that no event can delete: all packed numbers are positive.
NONE = -1
_WORD_BITS = 6
# A bucket property of version 1 in two halves: the version with the bucket, and the statement.
_HALF, _LOW_HALF = BUCKET_SHIFT, (1 << BUCKET_SHIFT) - 1
_VERSION_BITS = VERSION_SHIFT - BUCKET_SHIFT
_VERSION = 1 << _VERSION_BITS


class Range(NamedTuple):
    """The least and the greatest value."""

    least: int
    greatest: int


class Keys(NamedTuple):
    """Between which row ids those of a delete file are, part by part."""

    write_ids: Range
    buckets: Range
    row_ids: Range


@dataclass(frozen=True, slots=True)
class Packing:
    """How a partition's ordinal and the parts of a row id become one number.

    Attributes:
        bits: widths of the ordinal, the write id, the bucket, its statement, and the row id.
    """

    bits: tuple[int, ...]

    def sql(self) -> str:
        """SQL of the number of an event's row id; ``NONE`` if no delete event can have it."""
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
        """SQL of the word of an event's row id."""
        return f"shiftright({self.sql()}, {_WORD_BITS})"

    def bit_sql(self) -> str:
        """SQL of the place of its bit in the word."""
        return f"CAST({self.sql()} & {(1 << _WORD_BITS) - 1} AS INT)"


def most_words(files: Iterable[tuple[int, int, Keys | None]]) -> int:
    """The most words in which the row ids of delete files are.

    Args:
        files: the ordinal of its partition, the events, and the keys of each.
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
    """How the row ids of delete files are packed.

    Returns:
        None if that takes too many bits, or the row ids are not known well enough.
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
            statement = _LOW_HALF  # that of the greatest bucket need not be the greatest
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
    """The write id, the bucket, its statement, and the row id."""
    return key.write_id, (key.bucket >> _HALF) - _VERSION, key.bucket & _LOW_HALF, key.row_id
