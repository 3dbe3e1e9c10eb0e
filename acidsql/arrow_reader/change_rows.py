"""Changes of a table as record batches, without Spark.

Each row is read once, with the write id that deleted it. A stripe therefore shows which of its rows
were inserted and which were deleted. The rules are the same as in ``scan.change_plan``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from acidsql.arrow_reader.arrays import array_of, mask_of, numbers_of
from acidsql.arrow_reader.cached_files import CachedFiles
from acidsql.arrow_reader.calendars import Numbers
from acidsql.arrow_reader.columns import ROW_ID
from acidsql.arrow_reader.data_files import ArrowDataFile
from acidsql.arrow_reader.deleted_rows import DeletedRows
from acidsql.arrow_reader.rows import FileStripe, RowReader, Wanted, partitions_of
from acidsql.errors import FormatError
from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.valid_lists import RangeValidity
from acidsql.scan.change_form import (
    CHANGE_TYPE,
    COMMIT_TIMESTAMP,
    COMMIT_VERSION,
    DELETE,
    INSERT,
    POSTIMAGE,
    PREIMAGE,
    ChangeForm,
)
from acidsql.scan.change_lists import Commits
from acidsql.scan.change_snapshot import ChangeSnapshot
from acidsql.scan.dense_rows import Dense, are_of, dense_parts
from acidsql.scan.directories import delete_deltas, delete_files
from acidsql.storage.delete_files import DELETED_BY
from acidsql.storage.deleters import NOBODY, Deleters
from acidsql.storage.row_id_sets import runs
from acidsql.storage.tails import BUCKET, ORIGINAL_WRITE_ID
from acidsql.storage.tails import ROW_ID as ROW_NUMBER

CHANGE_FIELDS = (
    pa.field(CHANGE_TYPE, pa.string()),
    pa.field(COMMIT_VERSION, pa.int64()),
    pa.field(COMMIT_TIMESTAMP, pa.timestamp("us", "UTC")),
)
"""Columns of changes in addition to the columns of the table."""

_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeReader:
    """Reader of the changes in some directories.

    Attributes:
        source: files of the tables.
        changes: the directories, and the requested write ids.
        wanted: columns of the table that are read, without a filter.
        form: form of the changes; a caller that pairs them by keys must collect all changes.
        commits: facts about the write ids.
    """

    source: CachedFiles
    changes: ChangeSnapshot
    wanted: Wanted
    form: ChangeForm
    commits: Commits
    _deleters: dict[int, Deleters] = field(default_factory=dict)

    @property
    def schema(self) -> pa.Schema:
        """Schema of the batches."""
        return pa.schema([*self.wanted.schema, *CHANGE_FIELDS])

    def deleters(self, ordinal: int) -> Deleters:
        """Return which of the requested write ids deleted each row of a partition."""
        if ordinal not in self._deleters:
            self._deleters[ordinal] = Deleters.of(self._events(ordinal))
        return self._deleters[ordinal]

    def _events(self, ordinal: int) -> Iterator[pa.Table]:
        snapshot, changed = self.changes.snapshot, self.changes.changed
        for place in delete_deltas(snapshot):
            bounds = place.directory.min_write_id, place.directory.max_write_id
            if place.ordinal != ordinal or changed.range_validity(*bounds) is RangeValidity.NONE:
                continue
            for path, version, _ in delete_files(self.source, snapshot.listings.get(place.path)):
                events = self.source.events.events(path, version)
                by = numbers_of(events[DELETED_BY])
                yield events.filter(mask_of(_are_changed(changed, by)))

    def may_contain_changes(self, stripe: FileStripe) -> bool:
        """Return whether a stripe can have an inserted or deleted row, by its statistics."""
        file, changed = stripe.file, self.changes.changed
        if self.changes.replaced_by[file.ordinal] is not None:
            return True
        bounds = _bounds(stripe)
        if bounds is None:
            return True
        write_ids, buckets, row_ids = bounds
        if changed.range_validity(*write_ids) is not RangeValidity.NONE:
            return True
        return any(
            write_ids[0] <= write_id <= write_ids[1]
            and buckets[0] <= bucket <= buckets[1]
            and int(np.searchsorted(rows, row_ids[0])) < int(np.searchsorted(rows, row_ids[1] + 1))
            for (write_id, bucket), (rows, _) in self.deleters(file.ordinal).rows.items()
        )

    def read(self, stripes: Iterable[FileStripe]) -> Iterator[pa.RecordBatch]:
        """Read the changes of some stripes; each stripe gives up to three batches.

        Raises:
            FormatError: see ``RowReader.read``.
        """
        names = self.wanted.names
        with_keys = names if ROW_ID in names else (*names, ROW_ID)
        snapshot = self.changes.snapshot
        deleted = DeletedRows(self.source, snapshot)
        reader = RowReader(
            source=self.source,
            wanted=replace(self.wanted, names=with_keys),
            deleted=None,
            write_ids=snapshot.write_ids,
            partitions=partitions_of(snapshot, self.wanted),
        )
        for stripe in stripes:
            rows = reader.read(stripe)
            if rows is not None:
                ordinal = stripe.file.ordinal
                keys = _keys_of(rows)
                values = rows.select(list(names))
                yield from self._changed(values, ordinal, keys)
                yield from self._replaced(values, ordinal, keys, deleted)

    def _changed(
        self, rows: pa.RecordBatch, ordinal: int, keys: Sequence[Numbers]
    ) -> Iterator[pa.RecordBatch]:
        """Yield the inserted rows, and the rows that delete events name."""
        net, changed = self.form.net, self.changes.changed
        write_ids = keys[0]
        is_new = _are_changed(changed, write_ids)
        by = self.deleters(ordinal).find(*keys)
        if not (net and self.changes.replaced_by[ordinal] is not None):
            kept = by == NOBODY if net else by != write_ids
            yield from self._changes_of(rows, is_new & kept, write_ids, INSERT, POSTIMAGE)
        is_change = ~is_new if net else by != write_ids
        yield from self._changes_of(rows, (by != NOBODY) & is_change, by, DELETE, PREIMAGE)

    def _replaced(
        self,
        rows: pa.RecordBatch,
        ordinal: int,
        keys: Sequence[Numbers],
        deleted: DeletedRows,
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows that a base replaced."""
        write_id = self.changes.replaced_by[ordinal]
        if write_id is None:
            return
        gone = ~deleted.of(ordinal).contains(*keys)
        if self.form.net:
            gone &= ~_are_changed(self.changes.changed, keys[0])
        by = np.full(len(gone), write_id, np.int64)
        yield from self._changes_of(rows, gone, by, DELETE, DELETE)

    def _changes_of(
        self, rows: pa.RecordBatch, which: _Mask, versions: Numbers, plain: str, of_update: str
    ) -> Iterator[pa.RecordBatch]:
        """Yield a batch of the chosen rows with the columns of changes, if any rows are chosen."""
        positions = np.flatnonzero(which)
        if not len(positions):
            return
        chosen = (
            rows if len(positions) == len(which) else rows.take(array_of(positions, pa.int64()))
        )
        write_ids = versions[positions]
        is_plain = bool(self.form.keys) or self.form.net
        updates = () if is_plain else self.commits.updates
        known: dict[int, tuple[str, int | None]] = {
            w: (of_update if w in updates else plain, self.commits.times.get(w))
            for w in np.unique(write_ids).tolist()
        }
        commits = [known[w] for w in write_ids.tolist()]
        kind, version, time = CHANGE_FIELDS
        columns = [
            pa.array([one for one, _ in commits], kind.type),
            array_of(write_ids, version.type),
            pa.array([one for _, one in commits], pa.int64()).cast(time.type),
        ]
        yield pa.RecordBatch.from_arrays([*chosen.columns, *columns], schema=self.schema)

    def check_nothing_is_lost(self, stripes: Sequence[FileStripe]) -> None:
        """Check that the row of each delete event is in a file.

        The check uses statistics, and reads the row ids of stripes for which they are not enough.

        Args:
            stripes: all stripes of the directories.

        Raises:
            FormatError: DELETE_EVENT_WITHOUT_ROW.
        """
        every = range(len(self.changes.snapshot.partitions))
        wanted = {ordinal: self._old_rows(self.deleters(ordinal)) for ordinal in every}
        ranges = [
            Dense((ordinal, *place), int(rows[0]), int(rows[-1]))
            for ordinal, deleters in wanted.items()
            for place, (rows, _) in deleters.rows.items()
        ]
        files = {id(s.file): s.file for s in stripes}.values()
        if are_of(ranges, [part for file in files for part in _dense(file)]):
            return
        reader = RowReader(
            source=self.source,
            wanted=replace(self.wanted, names=(ROW_ID,)),
            deleted=None,
            write_ids=self.changes.snapshot.write_ids,
            partitions=[()] * len(every),
        )
        missing = {
            (ordinal, place): np.ones(len(rows), np.bool_)
            for ordinal, deleters in wanted.items()
            for place, (rows, _) in deleters.rows.items()
        }
        for stripe in stripes:
            kept = reader.read(stripe) if self.may_contain_changes(stripe) else None
            if kept is None:
                continue
            ordinal = stripe.file.ordinal
            for place, rows in runs(*_keys_of(kept)):
                left = missing.get((ordinal, place))
                if left is not None:
                    left &= ~np.isin(wanted[ordinal].rows[place][0], rows)
        for (ordinal, place), left in missing.items():
            if left.any():
                rows, by = wanted[ordinal].rows[place]
                raise self._lost(place, int(rows[left][0]), int(by[left][0]))

    def _old_rows(self, deleters: Deleters) -> Deleters:
        """Return the delete events that are changes.

        An event is no change if the same write id inserted the row. For net changes, it is no
        change if any of the requested write ids inserted the row.
        """
        old = {}
        for (write_id, bucket), (rows, by) in deleters.rows.items():
            others = by != write_id
            if self.form.net and self.changes.changed.is_valid(write_id):
                others[:] = False
            if others.any():
                old[write_id, bucket] = rows[others], by[others]
        return Deleters(old)

    def _lost(self, place: tuple[int, int], row_id: int, by: int) -> FormatError:
        name = self.changes.snapshot.table.full_name
        key = f'{{"writeid":{place[0]},"bucketid":{place[1]},"rowid":{row_id}}}'
        return FormatError(
            "DELETE_EVENT_WITHOUT_ROW",
            f"a row of {name} that write id {by} deleted is in no file, row__id {key}: "
            f"CHECK TABLE {name} FULL shows which rows are lost",
        )


def _keys_of(rows: pa.RecordBatch) -> list[Numbers]:
    """Return the write ids, bucket properties and row ids of rows, each of shape (rows,)."""
    return [numbers_of(part) for part in rows.column(ROW_ID).flatten()]


def _are_changed(changed: ChangedWriteIds, write_ids: Numbers) -> _Mask:
    """Return which write ids are among the requested ones, shape (rows,)."""
    every = np.unique(write_ids)
    return np.isin(write_ids, every[[changed.is_valid(w) for w in every.tolist()]])


def _bounds(stripe: FileStripe) -> list[tuple[int, int]] | None:
    """Return the ranges of write ids, bucket properties and row ids of a stripe, if known."""
    file = stripe.file
    if file.original is not None:
        first = file.original.first_row + stripe.first_row
        constants = file.original.write_id, file.original.bucket
        return [*((number, number) for number in constants), (first, first + stripe.rows - 1)]
    columns = ORIGINAL_WRITE_ID, BUCKET, ROW_NUMBER
    statistics = [file.known.tail.stripe_int_stats(column)[stripe.number] for column in columns]
    known = [(one.minimum, one.maximum) for one in statistics if one is not None]
    return known if len(known) == len(columns) else None


def _dense(file: ArrowDataFile) -> Iterator[Dense]:
    """Yield the dense parts of a file; a file with hidden rows yields none."""
    if file.original is not None:
        first = file.original.first_row
        place = file.ordinal, file.original.write_id, file.original.bucket
        yield Dense(place, first, first + file.known.tail.rows - 1)
    elif not file.is_partial:
        yield from dense_parts(file.ordinal, file.known.tail)


def paired(changes: pa.Table, form: ChangeForm, names: Mapping[str, str]) -> pa.Table:
    """Turn a deletion and an insertion with the same key into an update.

    Both must have the same write id, except for net changes.

    Args:
        changes: all changes, with the key columns.
        form: form of the changes, with keys.
        names: the table's spelling of column names, by names in lower case.
    """
    keys = [names[key] for key in form.keys]
    same = keys if form.net else [*keys, COMMIT_VERSION]
    place = "__place"
    numbered = changes.select([*same, CHANGE_TYPE]).append_column(
        place, array_of(np.arange(len(changes)), pa.int64())
    )
    halves = [numbered.filter(pc.equal(numbered[CHANGE_TYPE], kind)) for kind in (INSERT, DELETE)]
    # A join does not match NULLs.
    is_update = np.zeros(len(changes), np.bool_)
    for half, other in (halves, halves[::-1]):
        matched = half.select([*same, place]).join(other.select(same), same, join_type="left semi")
        is_update[numbers_of(matched[place])] = True
    is_old = pc.equal(changes[CHANGE_TYPE], DELETE)
    of_update = pc.if_else(is_old, PREIMAGE, POSTIMAGE)
    kinds = pc.if_else(mask_of(is_update), of_update, changes[CHANGE_TYPE])
    index = changes.schema.get_field_index(CHANGE_TYPE)
    return changes.set_column(index, CHANGE_FIELDS[0], kinds)
