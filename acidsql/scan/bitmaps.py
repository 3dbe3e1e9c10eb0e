"""Deleted rows as bits, found by the parts of a row id: one array within another.

A filter looks a row up in a few steps, however many are deleted, and its text is the same for all
snapshots. Nothing is joined, and nothing is sent to the tasks but the bits.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.scan.columns import ORDINAL

# The levels: a partition's ordinal, the write id, the bucket with its statement, and the word of 64
# row ids. A part that is out of range is that of no deleted row.
_VERSION = 1 << (VERSION_SHIFT - BUCKET_SHIFT)
_STATEMENT = (1 << BUCKET_SHIFT) - 1
_MOST = 2**31 - 1
# Few MERGEs have more clauses; they would take more room in all arrays.
_STATEMENTS = 8
_STATEMENT_SQL = f"(bucket & {_STATEMENT})"
_WRITER_SQL = f"(shiftright(bucket, {BUCKET_SHIFT}) - {_VERSION})"
BIT = "CAST(rowId & 63L AS INT)"

# Entries of the arrays above the words at most: a plan that is shown has them all. Arrays of them,
# each of which takes some calls to make; words; and words for each deleted row.
_MOST_ENTRIES, _MOST_ARRAYS = 50_000, 1_000
_MOST_WORDS, _WORDS_OF_ROW = 1_000_000, 64


@dataclass(frozen=True, slots=True, kw_only=True)
class Bitmaps:
    """The bits of deleted rows.

    Attributes:
        least: the lowest write id, at which the indexes of write ids begin.
        words: 64-bit, in the byte order of the machine, by the indexes of their array.
        partitioned: whether the indexes begin with the ordinal.
    """

    least: int
    words: Mapping[tuple[int, ...], bytes]
    partitioned: bool

    def indexes(self) -> list[str]:
        """The indexes of a row's word, as SQL.

        The lowest write id would be part of the program that Spark makes of a plan, as a number; an
        array, and an index that cannot be folded, are given to it.
        """
        least = f"get(array({self.least}L), bucket & 0)"
        writer = f"{_WRITER_SQL} * {_STATEMENTS} + {_STATEMENT_SQL}"
        return [
            *([f"CAST({ORDINAL} AS BIGINT)"] if self.partitioned else []),
            f"greatest(-1L, least(originalTransaction - {least}, {_MOST}L))",
            f"IF({_STATEMENT_SQL} < {_STATEMENTS}, {writer}, -1)",
            f"least(shiftright(rowId, 6), {_MOST}L)",
        ]


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
    if words > min(_MOST_WORDS, _WORDS_OF_ROW * len(keys)):
        return None
    least = pc.min(found["write_id"]).as_py() or 0
    bitmaps = {}
    for *ordinal, write_id, bucket, row_ids in zip(
        *(found[name].to_pylist() for name in names), found["row_id_list"], strict=True
    ):
        writer, statement = (bucket >> BUCKET_SHIFT) - _VERSION, bucket & _STATEMENT
        indexes = (*ordinal, write_id - least, writer * _STATEMENTS + statement)
        own = row_ids.values.to_numpy()
        in_range = all(0 <= index <= _MOST for index in (*indexes, write_id, writer, own.min()))
        if statement >= _STATEMENTS or not in_range:
            return None
        bitmaps[indexes] = _words(own)
    arrays, entries = _sizes(list(bitmaps))
    if arrays > _MOST_ARRAYS or entries > _MOST_ENTRIES:
        return None
    return Bitmaps(least=least, words=bitmaps, partitioned=partitioned)


def _words(row_ids: npt.NDArray[np.int64]) -> bytes:
    """The bits of some row ids."""
    bits = np.zeros(((int(row_ids.max()) >> 6) + 1) * 64, np.bool_)
    bits[row_ids] = True
    return np.packbits(bits, bitorder="little").view("<u8").astype(np.uint64).tobytes()


def _sizes(indexes: Sequence[tuple[int, ...]]) -> tuple[int, int]:
    """The number of arrays with these indexes in each other, and of their entries."""
    if not indexes or not indexes[0]:
        return 0, 0
    inner: dict[int, list[tuple[int, ...]]] = defaultdict(list)
    for first, *others in indexes:
        inner[first].append(tuple(others))
    arrays, entries = zip(*map(_sizes, inner.values()), strict=True)
    return 1 + sum(arrays), max(inner) + 1 + sum(entries)
