"""Deleted rows as bits of words, found by one part of a row id after the other.

A filter looks a row up in a few steps, however many are deleted, and its text is the same for all
snapshots. Nothing is joined, and nothing is sent to the tasks but the words.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.bridge import HALF_BITS, WORD_BITS, Words
from acidsql.scan.columns import ORDINAL
from acidsql.schema import KEYS
from acidsql.storage.delete_files import RowId

# Each takes 16 bytes, which are sent to the tasks.
_MOST_WORDS = 1_000_000
_MOST_PART = 2**HALF_BITS - 1
# Of a row that is looked up, and the first part of its number: a larger one would be cut off.
MOST_WRITE_ID = 2 ** (HALF_BITS - 1) - 1


def columns_of_words(*, partitioned: bool) -> list[str]:
    """The columns of events whose numbers are in the words of ``words_of``."""
    return [*([ORDINAL] if partitioned else []), *KEYS]


def words_of(keys: pa.Table, *, partitioned: bool) -> Words | None:
    """The bits of deleted rows.

    Args:
        keys: the ``ordinal`` of their partitions, and the parts of their row ids; at least one.
        partitioned: whether the ordinal is a part of their numbers.

    Returns:
        None if there are too many words, or a part is too large a number.
    """
    names = [*(["ordinal"] if partitioned else []), *RowId._fields]
    first, *parts = (keys[name].to_numpy().astype(np.int64) for name in names)
    row_ids = parts[-1]
    parts[-1] = row_ids >> WORD_BITS
    if not _fits(first, MOST_WRITE_ID) or not all(_fits(part, _MOST_PART) for part in parts):
        return None
    levels = []
    place = first
    for part in parts:
        level, place = np.unique(place << HALF_BITS | part, return_inverse=True)
        levels.append(level)
    if len(levels[-1]) > _MOST_WORDS:
        return None
    bits = np.zeros(len(levels[-1]), np.int64)
    np.bitwise_or.at(bits, place, np.left_shift(1, row_ids & ((1 << WORD_BITS) - 1)))
    return Words(levels=tuple(levels), bits=bits)


def _fits(numbers: npt.NDArray[np.int64], most: int) -> bool:
    return bool(numbers.min() >= 0 and numbers.max() <= most)
