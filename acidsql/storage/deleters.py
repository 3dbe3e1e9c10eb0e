"""Write ids that deleted rows, by row id."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from acidsql.storage.delete_files import DELETED_BY, NO_EVENTS, RowId, distinct
from acidsql.storage.row_id_sets import look_up, runs

NOBODY = -1
"""Value instead of a write id: the row was not deleted."""

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Deleters:
    """Write ids that deleted rows of one partition.

    Attributes:
        rows: ascending, distinct row ids and the write ids that deleted the rows, each of shape
            (rows,), by write id and bucket property.
    """

    rows: Mapping[tuple[int, int], tuple[_Numbers, _Numbers]]

    @classmethod
    def of(cls, events: Iterable[pa.Table]) -> Deleters:
        """Build the deleters from delete events in any order.

        If a row has several events, the one with the lowest write id counts.

        Args:
            events: tables with the columns of ``RowId``, and ``DELETED_BY``.
        """
        known = distinct(pa.concat_tables([NO_EVENTS, *events]).combine_chunks())
        columns = [known[name].to_numpy().astype(np.int64) for name in (*RowId._fields, DELETED_BY)]
        rows_by_place, start = {}, 0
        for place, rows in runs(*columns[:3]):
            rows_by_place[place] = rows, columns[3][start : start + len(rows)]
            start += len(rows)
        return cls(MappingProxyType(rows_by_place))

    def find(self, write_ids: _Numbers, buckets: _Numbers, row_ids: _Numbers) -> _Numbers:
        """Return the write ids that deleted some rows, or ``NOBODY``, shape (rows,).

        Args:
            write_ids: shape (rows,).
            buckets: shape (rows,).
            row_ids: shape (rows,).
        """
        deleted_by = np.full(len(row_ids), NOBODY, np.int64)
        start = 0
        for place, run in runs(write_ids, buckets, row_ids):
            known = self.rows.get(place)
            if known is not None:
                rows, deleters = known
                positions, is_same = look_up(rows, run)
                deleted_by[start : start + len(run)][is_same] = deleters[positions][is_same]
            start += len(run)
        return deleted_by
