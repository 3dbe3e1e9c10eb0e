"""Deleted rows as bits, found by the parts of a row id: one array within another.

A filter looks a row up in a few steps, however many are deleted, and its text is the same for all
snapshots. Nothing is joined, and nothing is sent to the tasks but the bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.scan.columns import ORDINAL

# The levels: a partition's ordinal, the write id, the bucket, its statement, and the word of 64 row
# ids. A part that does not fit in 31 bits is that of no deleted row.
_VERSION = 1 << (VERSION_SHIFT - BUCKET_SHIFT)
_STATEMENT = (1 << BUCKET_SHIFT) - 1
_MOST = 2**31 - 1
INDEXES = (
    f"CAST({ORDINAL} AS BIGINT)",
    f"least(originalTransaction, {_MOST}L)",
    f"shiftright(bucket, {BUCKET_SHIFT}) - {_VERSION}",
    f"bucket & {_STATEMENT}",
    f"least(shiftright(rowId, 6), {_MOST}L)",
)
BIT = "CAST(rowId & 63L AS INT)"

# Entries of the arrays above the words at most: a plan that is shown has them all. Arrays of words,
# and words, at most; and of these for each deleted row.
_MOST_ENTRIES = 20_000
_MOST_ARRAYS, _MOST_WORDS, _WORDS_OF_ROW = 128, 1_000_000, 64

# Words, 64-bit and big-endian, by the indexes of their array.
Bitmaps = Mapping[tuple[int, ...], bytes]


def bitmaps_of(keys: pa.Table, *, partitioned: bool) -> Bitmaps | None:
    """The bits of deleted rows.

    Args:
        keys: the ``ordinal`` of their partitions, and the parts of their row ids.
        partitioned: whether the indexes begin with the ordinal.

    Returns:
        None if they would take too much.
    """
    names = [*(["ordinal"] if partitioned else []), "write_id", "bucket"]
    found = keys.group_by(names).aggregate([("row_id", "max"), ("row_id", "list")])
    words = pc.sum(pc.add(pc.shift_right(found["row_id_max"], 6), 1)).as_py() or 0
    if len(found) > _MOST_ARRAYS or words > min(_MOST_WORDS, _WORDS_OF_ROW * len(keys)):
        return None
    bitmaps = {}
    for *ordinal, write_id, bucket, row_ids in zip(
        *(found[name].to_pylist() for name in names), found["row_id_list"], strict=True
    ):
        parts = (bucket >> BUCKET_SHIFT) - _VERSION, bucket & _STATEMENT
        indexes = (*ordinal, write_id, *parts)
        own = row_ids.values.to_numpy()
        if not all(0 <= index <= _MOST for index in (*indexes, own.min())):
            return None
        bitmaps[indexes] = _words(own)
    return bitmaps if _entries(list(bitmaps)) <= _MOST_ENTRIES else None


def _words(row_ids: npt.NDArray[np.int64]) -> bytes:
    """The bits of some row ids."""
    bits = np.zeros(((int(row_ids.max()) >> 6) + 1) * 64, np.bool_)
    bits[row_ids] = True
    return np.packbits(bits, bitorder="little").view("<u8").astype(">u8").tobytes()


def _entries(indexes: Sequence[tuple[int, ...]]) -> int:
    """The entries of arrays with these indexes in each other."""
    if not indexes or not indexes[0]:
        return 0
    inner: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for first, *others in indexes:
        inner[first].append(tuple(others))
    return max(inner) + 1 + sum(_entries(own) for own in inner.values())
