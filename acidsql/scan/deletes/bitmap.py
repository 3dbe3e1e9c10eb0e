"""Deleted rows as bits of words, found by one part of a row id after the other.

A filter looks a row up in a few steps, however many are deleted, and its text is the same for all
snapshots. Nothing is joined, and nothing is sent to the tasks but the words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.bridge import HALF_BITS, WORD_BITS, DeleteBitmap
from acidsql.limits import limits
from acidsql.scan.columns import ORDINAL
from acidsql.schema.acid_file import KEYS
from acidsql.storage.delete_files import RowId

_Numbers = npt.NDArray[np.int64]

_MOST_PART = 2**HALF_BITS - 1
# Of a row that is looked up, and the first part of its number: a larger one would be cut off.
MOST_WRITE_ID = 2 ** (HALF_BITS - 1) - 1


def delete_bitmap_columns(*, partitioned: bool) -> list[str]:
    """The columns of events whose numbers are in the words of ``make_delete_bitmap``."""
    return [*([ORDINAL] if partitioned else []), *KEYS]


def make_delete_bitmap(keys: pa.Table, *, partitioned: bool) -> DeleteBitmap | None:
    """The bits of deleted rows.

    Args:
        keys: the ``ordinal`` of their partitions, and the parts of their row ids; at least one.
        partitioned: whether the ordinal is a part of their numbers.

    Returns:
        None if there are too many words, or a part is too large a number.
    """
    names = [*(["ordinal"] if partitioned else []), *RowId._fields]
    first, *parts = (keys[name].to_numpy().astype(np.int64) for name in names)
    row_ids = parts.pop()
    words = row_ids >> WORD_BITS
    if not _fits(first, MOST_WRITE_ID):
        return None
    if not all(_fits(part, _MOST_PART) for part in (*parts, words)):
        return None
    levels = []
    place = first
    for part in parts:
        level, place = _distinct(place << HALF_BITS | part)
        levels.append(level)
    bits = np.left_shift(1, row_ids & ((1 << WORD_BITS) - 1))
    level, gathered = _gathered(place, words, bits)
    if len(level) > limits().bitmap_words:
        return None
    return DeleteBitmap(levels=(*levels, level), bits=gathered)


def number_of_deleted_rows(bitmap: DeleteBitmap) -> int:
    """How many rows have a bit."""
    return int(np.unpackbits(bitmap.bits.view(np.uint8)).sum())


def _distinct(numbers: _Numbers) -> tuple[_Numbers, _Numbers]:
    """The values among numbers, ascending, and the place of each number in them.

    Few numbers differ from the one before, since files are sorted by row id: no others are sorted.
    """
    is_new = np.concatenate(([True], numbers[1:] != numbers[:-1]))
    values, places = np.unique(numbers[is_new], return_inverse=True)
    return values, places[np.cumsum(is_new) - 1]


def _gathered(places: _Numbers, words: _Numbers, bits: _Numbers) -> tuple[_Numbers, _Numbers]:
    """The numbers of the words that have a bit, ascending, and their bits.

    Args:
        places: those of the other parts of row ids in their level, from 0 on.
        words: of the row ids.
        bits: one of a word each.
    """
    least = np.full(places.max() + 1, _MOST_PART)
    np.minimum.at(least, places, words)
    most = np.zeros_like(least)
    np.maximum.at(most, places, words)
    ends = np.cumsum(most - least + 1)
    if ends[-1] > limits().dense_bitmap_words:
        return _sorted(places << HALF_BITS | words, bits)
    before = ends - most - 1  # what a word's number is less than its position
    dense = np.zeros(ends[-1], np.int64)
    np.bitwise_or.at(dense, before[places] + words, bits)
    positions = np.flatnonzero(dense)
    owners = np.searchsorted(ends, positions, side="right")
    return owners << HALF_BITS | (positions - before[owners]), dense[positions]


def _sorted(numbers: _Numbers, bits: _Numbers) -> tuple[_Numbers, _Numbers]:
    """What ``_gathered`` gives, for words that are far apart."""
    level, places = np.unique(numbers, return_inverse=True)
    gathered = np.zeros(len(level), np.int64)
    np.bitwise_or.at(gathered, places, bits)
    return level, gathered


def _fits(numbers: _Numbers, most: int) -> bool:
    return bool(numbers.min() >= 0 and numbers.max() <= most)
