"""Construction of the delete bitmap of a snapshot.

A filter looks a row up in it in a few steps, however many rows are deleted, and the filter's text
is the same for all snapshots. There is no join, and only the bitmap is sent to the tasks.
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
# Largest write id that a filter can look up: it is shifted by 32 bits, and more would be cut off.
MOST_WRITE_ID = 2 ** (HALF_BITS - 1) - 1


def delete_bitmap_columns(*, partitioned: bool) -> list[str]:
    """Return the names of the columns of insert events that ``make_delete_bitmap`` identifies rows
    by.

    Args:
        partitioned: whether the ordinal of the partition is one of them.
    """
    return [*([ORDINAL] if partitioned else []), *KEYS]


def make_delete_bitmap(keys: pa.Table, *, partitioned: bool) -> DeleteBitmap | None:
    """Build the delete bitmap of some row ids.

    Args:
        keys: columns ``ordinal`` and the fields of ``RowId``, int64; at least one row, which may
            occur more than once.
        partitioned: whether the ordinal is part of what identifies a row.

    Returns:
        None if it would have too many words, or a part of a row id is too large a number.
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
    """Return the number of rows in a delete bitmap."""
    return int(np.unpackbits(bitmap.bits.view(np.uint8)).sum())


def _distinct(numbers: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Return the distinct values of an array, ascending, and the index of each number in them.

    Files are sorted by row id, so most numbers equal the one before; only the others are sorted.

    Args:
        numbers: shape (rows,).

    Returns:
        Arrays of shape (values,) and (rows,).
    """
    is_new = np.concatenate(([True], numbers[1:] != numbers[:-1]))
    values, places = np.unique(numbers[is_new], return_inverse=True)
    return values, places[np.cumsum(is_new) - 1]


def _gathered(places: _Numbers, words: _Numbers, bits: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Combine bits by word, and return the words that have a bit.

    Args:
        places: indexes of the other parts of the row ids in the level before; shape (rows,).
        words: numbers of the words, the row ids without their lowest six bits; shape (rows,).
        bits: 64-bit words with a single bit set; shape (rows,).

    Returns:
        The level with the numbers of the words (``DeleteBitmap.levels``), ascending, and the words
        themselves; both of shape (words,).
    """
    least = np.full(places.max() + 1, _MOST_PART)
    np.minimum.at(least, places, words)
    most = np.zeros_like(least)
    np.maximum.at(most, places, words)
    ends = np.cumsum(most - least + 1)
    if ends[-1] > limits().dense_bitmap_words:
        return _sorted(places << HALF_BITS | words, bits)
    before = ends - most - 1  # difference of a word's position in ``dense`` and its number
    dense = np.zeros(ends[-1], np.int64)
    np.bitwise_or.at(dense, before[places] + words, bits)
    positions = np.flatnonzero(dense)
    owners = np.searchsorted(ends, positions, side="right")
    return owners << HALF_BITS | (positions - before[owners]), dense[positions]


def _sorted(numbers: _Numbers, bits: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Combine bits as ``_gathered`` does, by sorting, for words that are far apart.

    Args:
        numbers: places and words as one number.
    """
    level, places = np.unique(numbers, return_inverse=True)
    gathered = np.zeros(len(level), np.int64)
    np.bitwise_or.at(gathered, places, bits)
    return level, gathered


def _fits(numbers: _Numbers, most: int) -> bool:
    return bool(numbers.min() >= 0 and numbers.max() <= most)
