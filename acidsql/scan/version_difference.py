"""Rows that are in one snapshot of a table and not in a snapshot of an older or later version.

Directories that cannot contain such rows are not read, and neither are partitions without other
directories.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from acidsql import bridge
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.format.version_difference import (
    Lost,
    has_rows,
    later_delete_deltas,
    ways_of_loss,
    with_later_rows,
    with_write_ids,
)
from acidsql.metastore.model import Table
from acidsql.scan.deletes import Deletes, find_deletes
from acidsql.scan.plan import EVENT_KEYS, Narrow, places_of, row_keys, scan
from acidsql.scan.record import ScanRecord
from acidsql.scan.relation import projected, row_relation
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.schema.acid_file import ROW_ID_COLUMN, ROW_ID_FIELDS
from acidsql.session.acid_session import AcidSession
from acidsql.storage.relation import ReadOptions, metadata_columns

_WRITE_ID = f"{ROW_ID_COLUMN}.writeid"
_OTHER = "__other_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """Two snapshots of one table, taken under one transaction.

    Attributes:
        session: the session.
        old: the older snapshot.
        new: the later snapshot, which sees all write ids that the older one sees.
        records: list that gets the records of the scans that are built.
    """

    session: AcidSession
    old: TableSnapshot
    new: TableSnapshot
    records: list[ScanRecord]

    def pairs(self) -> list[tuple[PartitionSnapshot, PartitionSnapshot]]:
        """Return the partitions of both snapshots in pairs.

        If a snapshot lacks a partition, its half of the pair has no directories.
        """
        old, new = ({p.values: p for p in s.partitions} for s in (self.old, self.new))
        return [
            (
                old[values] if values in old else replace(new[values], state=AcidState()),
                new[values] if values in new else replace(old[values], state=AcidState()),
            )
            for values in sorted(old.keys() | new.keys())
        ]

    def ways_of_loss(self) -> list[Lost]:
        """Return, for each pair, how to find the rows that the later version lacks."""
        seen = self.old.write_ids
        return [ways_of_loss(old.state, new.state, seen) for old, new in self.pairs()]

    def later_rows(self, write_id: int | None = None) -> DataFrame | None:
        """Return the rows that only the later version has, with the columns of a scan.

        Args:
            write_id: write id of the wanted rows; by default all write ids that the older version
                does not see.

        Returns:
            None if the names of directories show that there are no such rows.
        """
        seen = self.old.write_ids
        by_write_id, whole = [], []
        for (old, new), loss in zip(self.pairs(), self.ways_of_loss(), strict=True):
            if loss is Lost.ALL and write_id is None:
                whole.append(new)
                continue
            state = with_later_rows(old.state, new.state, seen)
            if write_id is not None:
                state = with_write_ids(state, write_id, write_id)
            if has_rows(state):
                by_write_id.append(replace(new, state=state))
        wanted = is_hidden_from(seen, _WRITE_ID)
        if write_id is not None:
            wanted = f"{_WRITE_ID} = {write_id}"
        frames = [self._rows(self.new, part) for part in (by_write_id, whole) if part]
        if by_write_id:
            frames[0] = frames[0].where(wanted)
        return _union(frames)

    def lost_rows(self, write_id: int | None = None) -> DataFrame | None:
        """Return the rows that only the older version has, with the columns of a scan.

        Args:
            write_id: write id of the wanted rows, None for all.

        Returns:
            None if the names of directories, or their delete events, show that there are no such
            rows.
        """
        by_loss: dict[Lost, list[tuple[PartitionSnapshot, PartitionSnapshot]]] = defaultdict(list)
        for pair, loss in zip(self.pairs(), self.ways_of_loss(), strict=True):
            by_loss[loss].append(pair)
        frames = [
            self._lost_by_events(by_loss[Lost.BY_EVENTS], write_id),
            self._lost_by_row_ids(by_loss[Lost.BY_ROW_IDS], write_id),
            self._all(by_loss[Lost.ALL], write_id),
        ]
        rows = _union([frame for frame in frames if frame is not None])
        return rows if rows is None or write_id is None else rows.where(f"{_WRITE_ID} = {write_id}")

    def _lost_by_events(
        self, pairs: Sequence[tuple[PartitionSnapshot, PartitionSnapshot]], write_id: int | None
    ) -> DataFrame | None:
        """Return the rows of the older version that later delete events name."""
        seen = self.old.write_ids
        later = _of(
            self.new,
            [
                replace(n, state=AcidState(deltas=later_delete_deltas(n.state, seen)))
                for _, n in pairs
            ],
        )
        deletes = find_deletes(self.session, later)
        ranges = deletes.write_ids()
        partitions = []
        for ordinal, (old, _) in enumerate(pairs):
            named = ranges.get(ordinal, ())
            lowest = min((r.least for r in named), default=1)
            highest = max((r.greatest for r in named), default=0)
            if write_id is not None:
                lowest, highest = max(lowest, write_id), min(highest, write_id)
            is_named = lowest <= highest
            state = with_write_ids(old.state, lowest, highest) if is_named else AcidState()
            partitions.append(replace(old, state=state))
        if not any(has_rows(p.state) for p in partitions):
            return None
        return self._named_by(_of(self.old, partitions), deletes)

    def _named_by(self, lost: TableSnapshot, deletes: Deletes) -> DataFrame:
        """Return the rows of a snapshot that later delete events name, but no earlier event.

        Args:
            lost: the snapshot.
            deletes: the later delete events, in the same partitions.
        """
        inserts, earlier = places_of(self.session, lost)
        record = ScanRecord(snapshot=lost, inserts=inserts, deletes=deletes)
        self.records.append(record)
        rows = row_relation(
            self.session,
            record,
            inserts,
            Deletes(files=(*earlier.files, *deletes.files), deleters=self.new.write_ids),
            ReadOptions(deleted=bridge.DeletedRowsMode.ONLY),
        )
        first_deleted = metadata_columns(lost.table).write_id
        named = rows.where(is_hidden_from(self.old.write_ids, first_deleted))
        return projected(self.session.spark, lost.table, named).frame()

    def _lost_by_row_ids(
        self, pairs: Sequence[tuple[PartitionSnapshot, PartitionSnapshot]], write_id: int | None
    ) -> DataFrame | None:
        """Return the rows of the older version with row ids that the later version lacks."""
        if write_id is not None:
            pairs = [
                (replace(o, state=with_write_ids(o.state, write_id, write_id)), n) for o, n in pairs
            ]
        pairs = [(o, n) for o, n in pairs if has_rows(o.state)]
        if not pairs:
            return None
        lost = _of(self.old, [old for old, _ in pairs])
        kept = _of(self.new, [new for _, new in pairs])
        narrow = _without(lambda: row_keys(self.session, kept), lost.table)
        return self._scanned(lost, narrow)

    def _all(
        self, pairs: Sequence[tuple[PartitionSnapshot, PartitionSnapshot]], write_id: int | None
    ) -> DataFrame | None:
        """Return all rows of the older version."""
        places = [old for old, _ in pairs]
        if write_id is not None:
            places = [replace(p, state=with_write_ids(p.state, write_id, write_id)) for p in places]
        return self._rows(self.old, places) if any(has_rows(p.state) for p in places) else None

    def _rows(self, snapshot: TableSnapshot, partitions: Iterable[PartitionSnapshot]) -> DataFrame:
        return self._scanned(_of(snapshot, partitions), None)

    def _scanned(self, snapshot: TableSnapshot, narrow: Narrow | None) -> DataFrame:
        record = ScanRecord(snapshot=snapshot)
        self.records.append(record)
        return scan(self.session, record, narrow).frame()


def is_hidden_from(write_ids: ValidWriteIdList, column: str) -> str:
    """Return, as SQL, the condition that a committed write id is not valid in a list.

    >>> write_ids = ValidWriteIdList(table="t", high_water_mark=7, open=frozenset({6}))
    >>> is_hidden_from(write_ids, "w")
    '(w > 7 OR w IN (6))'
    """
    listed = ", ".join(map(str, sorted(write_ids.open)))
    later = f"{column} > {write_ids.high_water_mark}"
    return f"({later} OR {column} IN ({listed}))" if listed else later


def _without(keys: Callable[[], DataFrame], table: Table) -> Narrow:
    """Return a function that leaves out the rows of a scan that have one of some keys.

    Args:
        keys: builds a frame with ``EVENT_KEYS``; it is called for each scan.
        table: table that is scanned.
    """
    names = metadata_columns(table)
    row_id_fields = [f"{names.row_id}.{field}" for field in ROW_ID_FIELDS]

    def narrow(rows: bridge.UnresolvedPlan) -> bridge.UnresolvedPlan:
        others = keys().select(*[F.col(key).alias(f"{_OTHER}{key}") for key in EVENT_KEYS])
        pairs = zip((*row_id_fields, names.partition), EVENT_KEYS, strict=True)
        same = [F.col(name) == F.col(f"{_OTHER}{key}") for name, key in pairs]
        return bridge.UnresolvedPlan.of(rows.frame().join(others, same, "left_anti"))

    return narrow


def _of(snapshot: TableSnapshot, partitions: Iterable[PartitionSnapshot]) -> TableSnapshot:
    return replace(snapshot, partitions=tuple(partitions))


def _union(frames: Sequence[DataFrame]) -> DataFrame | None:
    return reduce(DataFrame.unionAll, frames) if frames else None
