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
        """Build the set of the row ids in tables, in any order and perhaps repeated.

        Args:
            keys: tables with the columns of ``RowId``.
        """
        parts: dict[tuple[int, int], list[_Numbers]] = defaultdict(list)
        for table in keys:
            columns = [table[name].to_numpy().astype(np.int64) for name in RowId._fields]
            for place, rows in runs(*columns):
                parts[place].append(rows)
        # numpy's union sorts; most groups are one run of a file, which is sorted already.
        found = {place: np.unique(np.concatenate(own)) for place, own in parts.items()}
        return cls(MappingProxyType(found))

    def common(self, other: RowIdSet) -> RowId | None:
        """Return a row id that is in both sets, the least by write id and bucket, or None."""
        if len(other.rows) < len(self.rows):
            return other.common(self)
        for place in sorted(self.rows.keys() & other.rows.keys()):
            few, many = sorted((self.rows[place], other.rows[place]), key=len)
            # Not numpy's intersect1d: it sorts both, and one of them may be small.
            _, is_known = look_up(many, few)
            equal = few[is_known]
            if len(equal):
                return RowId(*place, int(equal[0]))
        return None

    def contains(
        self, write_ids: _Numbers, buckets: _Numbers, row_ids: _Numbers
    ) -> npt.NDArray[np.bool_]:
        """Return which row ids are in the set.

        Args:
            write_ids: shape (rows,).
            buckets: shape (rows,).
            row_ids: shape (rows,).
        """
        found = np.zeros(len(row_ids), np.bool_)
        start = 0
        for place, run in runs(write_ids, buckets, row_ids):
            known = self.rows.get(place)
            if known is not None:
                _, found[start : start + len(run)] = look_up(known, run)
            start += len(run)
        return found

    def __len__(self) -> int:
        return sum(len(rows) for rows in self.rows.values())


def look_up(known: _Numbers, wanted: _Numbers) -> tuple[_Numbers, npt.NDArray[np.bool_]]:
    """Return the positions of numbers among others, and which of them are there; where one is not,
    its position is of another number.

    Args:
        known: ascending and distinct, at least one, shape (known,).
        wanted: shape (wanted,).
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
