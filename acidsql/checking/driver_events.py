"""Reading of events in the driver, for few rows: a Spark job would take longer."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.orc as pa_orc

from acidsql.checking.problems import RowId
from acidsql.checking.reading import Checked, Common, Summary, WithoutRows
from acidsql.checking.row_ids import Box
from acidsql.errors import FormatError
from acidsql.format.acid_metadata import KEY_INDEX
from acidsql.format.bucket_codec import BUCKET_SHIFT, VERSION_SHIFT
from acidsql.storage.parallel import in_parallel

_BUCKET_MASK = 0xFFF
_VERSION_MASK = 0b111
_KEY = list(RowId._fields)
_COLUMNS = ["operation", *_KEY, "deleted_by"]
_FILE, _PLACE = "file", "place"
_PLACED_KEY = [_PLACE, *_KEY]
_Numbers = npt.NDArray[np.int64]
_Flags = npt.NDArray[np.bool_]


class DriverEvents:
    """Reader of events with Arrow (``EventReader``)."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._events = cache(self._read)

    def _read(self, index: int) -> pa.Table:
        """Read the ACID columns of a file, without ``row``.

        Raises:
            FormatError: FAILED_READ_FILE.
        """
        path = self._checked.files[index].file.path
        try:
            with self._checked.session.files.open(path) as stream:
                reader = pa_orc.ORCFile(stream)
                table = reader.read(columns=reader.schema.names[:5])
        except (OSError, pa.ArrowException) as error:
            raise FormatError(
                "FAILED_READ_FILE", f"{path} cannot be read: {error}", {"path": path}
            ) from error
        return table.rename_columns(_COLUMNS)

    def summaries(self, indexes: Sequence[int]) -> list[Summary]:
        """Summarise the events of each file."""
        return in_parallel(self._summary, indexes)

    def _summary(self, index: int) -> Summary:
        read = self._checked.files[index]
        columns = {name: self._column(index, name) for name in _COLUMNS}
        key = [columns[name] for name in _KEY]
        wrong = {}
        for name, flags in self._wrong(index, columns).items():
            count = int(flags.sum())
            if count:
                wrong[name] = count, _row_id(key, int(flags.argmax()))
        ends: list[int] = []
        if KEY_INDEX in read.file.tail.metadata:
            ends = [n - 1 for n in accumulate(s.rows for s in read.file.tail.stripes)]
        write_ids, buckets, row_ids = ((int(c.min()), int(c.max())) for c in key)
        number = len(key[0])
        return Summary(
            box=Box(read.ordinal, index, write_ids, buckets, row_ids, number),
            wrong=wrong,
            ends=tuple(_row_id(key, end) for end in ends if end < number),
        )

    def _column(self, index: int, name: str) -> _Numbers:
        numbers: _Numbers = self._events(index)[name].to_numpy().astype(np.int64)
        return numbers

    def _wrong(self, index: int, columns: dict[str, _Numbers]) -> dict[str, _Flags]:
        """Return, for each key of ``WRONG``, which events are wrong."""
        file = self._checked.files[index].file
        low, high = file.lowest_write_id, file.highest_write_id
        original, deleted_by = columns["write_id"], columns["deleted_by"]
        bucket = columns["bucket"]
        version = bucket >> VERSION_SHIFT & _VERSION_MASK
        bucket_id = np.where(version == 1, bucket >> BUCKET_SHIFT & _BUCKET_MASK, bucket)
        above, same = _compared([columns[name] for name in _KEY])
        if file.is_delete:
            later = np.zeros(len(same), np.bool_)
            later[1:] = deleted_by[1:] > deleted_by[:-1]
            above = above | (same & later)
        seen = not self._checked.is_filtered(index)
        return {
            "operation": columns["operation"] != (2 if file.is_delete else 0),
            "write_id": (original < (0 if file.is_delete else low))
            | (original > high)
            | (deleted_by < low)
            | (deleted_by > high),
            "property": version > 1,
            "bucket": (version <= 1) & (bucket_id != file.bucket_id),
            "unsorted": above,
            "twice": same & seen,
        }

    def _visible(self, indexes: Sequence[int]) -> pa.Table:
        """Return the visible events of some files, with their files and places."""
        write_ids = self._checked.survey.write_ids
        parts = []
        for index in indexes:
            events = self._events(index).select([*_KEY, "deleted_by"])
            if self._checked.is_filtered(index):
                by = pc.unique(events["deleted_by"]).to_pylist()
                valid = pa.array([w for w in by if write_ids.is_valid(w)], pa.int64())
                events = events.filter(pc.is_in(events["deleted_by"], valid))
            for name, value in ((_FILE, index), (_PLACE, self._checked.files[index].ordinal)):
                numbers = pa.repeat(pa.scalar(value, pa.int64()), events.num_rows)
                events = events.append_column(name, numbers)
            parts.append(events)
        return pa.concat_tables(parts)

    def common(self, indexes: Sequence[int]) -> list[Common]:
        """Find row ids that occur more than once."""
        grouped = self._visible(indexes).group_by(_PLACED_KEY)
        counted = grouped.aggregate([([], "count_all"), (_FILE, "min"), (_FILE, "max")])
        keys_of_files: dict[tuple[int, int], list[RowId]] = {}
        for row in counted.filter(pc.field("count_all") > 1).to_pylist():
            pair = row["file_min"], row["file_max"]
            keys_of_files.setdefault(pair, []).append(RowId(*(row[name] for name in _KEY)))
        return [
            Common(one=one, other=other, first=min(keys), number=len(keys))
            for (one, other), keys in keys_of_files.items()
        ]

    def without_rows(self, deletes: Sequence[int], inserts: Sequence[int]) -> list[WithoutRows]:
        """Find delete events without rows."""
        events = self._visible(deletes)
        base = np.array([self._checked.base(i) for i in range(len(self._checked.files))])
        is_above = events["deleted_by"].to_numpy() > base[events[_FILE].to_numpy()]
        missing = events.filter(pa.array(is_above))
        if inserts:
            rows = self._visible(inserts).select(_PLACED_KEY)
            missing = missing.join(rows, keys=_PLACED_KEY, join_type="left anti")
        originals = self._checked.contents.originals
        keys_of_files: dict[int, list[RowId]] = {}
        for row in missing.to_pylist():
            key = RowId(*(row[name] for name in _KEY))
            rows_there = originals.get((row[_PLACE], key.write_id, key.bucket), 0)
            if key.row_id >= rows_there:
                keys_of_files.setdefault(row[_FILE], []).append(key)
        return [
            WithoutRows(file=file, first=min(keys), number=len(keys))
            for file, keys in keys_of_files.items()
        ]


def _compared(key: Sequence[_Numbers]) -> tuple[_Flags, _Flags]:
    """Return which row ids are below the previous row id, and which are equal to it."""
    below = np.zeros(len(key[0]), np.bool_)
    same = np.ones(len(key[0]), np.bool_)
    same[:1] = False
    for part in key:
        before, after = part[:-1], part[1:]
        below[1:] |= same[1:] & (after < before)
        same[1:] &= after == before
    return below, same


def _row_id(key: Sequence[_Numbers], position: int) -> RowId:
    return RowId(*(int(part[position]) for part in key))
