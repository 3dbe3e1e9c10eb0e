"""Sets of row ids, compared on the driver."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.storage.delete_files import RowId

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class RowIdSet:
    """Row ids of one partition.

    Attributes:
        rows: ascending, distinct row ids of shape (rows,), by write id and bucket property.
    """

    rows: Mapping[tuple[int, int], _Numbers]

    @classmethod
    def of(cls, keys: Iterable[pa.Table]) -> RowIdSet:
        """Build the set of the row ids in tables; they may be unsorted and repeated.

        Args:
            keys: tables with the columns of ``RowId``.
        """
        parts: dict[tuple[int, int], list[_Numbers]] = defaultdict(list)
        for table in keys:
            columns = [table[name].to_numpy().astype(np.int64) for name in RowId._fields]
            for place, rows in runs(*columns):
                parts[place].append(rows)
        # numpy's unique sorts. Most groups are a single run of a file, which is already sorted.
        rows_by_place = {
            place: np.unique(np.concatenate(arrays)) for place, arrays in parts.items()
        }
        return cls(MappingProxyType(rows_by_place))

    def common(self, other: RowIdSet) -> RowId | None:
        """Return the lowest row id, by write id and bucket, that is in both sets, or None."""
        if len(other.rows) < len(self.rows):
            return other.common(self)
        for place in sorted(self.rows.keys() & other.rows.keys()):
            smaller, larger = sorted((self.rows[place], other.rows[place]), key=len)
            # numpy's intersect1d is not used, because it sorts both, and one may be small.
            _, is_known = look_up(larger, smaller)
            equal = smaller[is_known]
            if len(equal):
                return RowId(*place, int(equal[0]))
        return None

    def contains(
        self, write_ids: _Numbers, buckets: _Numbers, row_ids: _Numbers
    ) -> npt.NDArray[np.bool_]:
        """Return whether the set contains each row id, shape (rows,).

        Args:
            write_ids: shape (rows,).
            buckets: shape (rows,).
            row_ids: shape (rows,).
        """
        is_contained = np.zeros(len(row_ids), np.bool_)
        start = 0
        for place, run in runs(write_ids, buckets, row_ids):
            known = self.rows.get(place)
            if known is not None:
                _, is_contained[start : start + len(run)] = look_up(known, run)
            start += len(run)
        return is_contained

    def __len__(self) -> int:
        return sum(len(rows) for rows in self.rows.values())


def look_up(known: _Numbers, wanted: _Numbers) -> tuple[_Numbers, npt.NDArray[np.bool_]]:
    """Look up numbers among known numbers.

    Args:
        known: ascending and distinct, at least one, shape (known,).
        wanted: shape (wanted,).

    Returns:
        The positions in ``known``, and whether each number is known. The position of an unknown
        number has no meaning.
    """
    positions = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return positions, known[positions] == wanted


def runs(
    write_ids: _Numbers, buckets: _Numbers, row_ids: _Numbers
) -> Iterable[tuple[tuple[int, int], _Numbers]]:
    """Yield the row ids of each run of rows with one write id and bucket property.

    Args:
        write_ids: shape (rows,).
        buckets: shape (rows,).
        row_ids: shape (rows,).
    """
    if not len(row_ids):
        return
    is_new = (write_ids[1:] != write_ids[:-1]) | (buckets[1:] != buckets[:-1])
    starts = np.concatenate(([0], np.flatnonzero(is_new) + 1))
    ends = np.concatenate((starts[1:], [len(row_ids)]))
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        yield (int(write_ids[start]), int(buckets[start])), row_ids[start:end]
