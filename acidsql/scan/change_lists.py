"""Write ids and directories that contain the changes of a table between two valid lists."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

from acidsql.errors import AcidAnalysisError
from acidsql.format.changed_write_ids import (
    ChangedWriteIds,
    highest_valid,
    nothing,
    shows_all_of,
    without,
)
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.history import COMPACT, HistoryEntry
from acidsql.metastore.model import Table
from acidsql.metastore.moments import (
    BeforeTransactionMoment,
    Bound,
    ChangeRange,
    Moment,
    TableVersion,
    TimeMoment,
    TransactionMoment,
    WriteIdMoment,
    microseconds,
)
from acidsql.metastore.write_ids_ahead import learn_write_ids
from acidsql.scan.change_snapshot import ChangeSnapshot, take_change_snapshots
from acidsql.scan.file_history import history_of_files
from acidsql.scan.file_times import version_by_files
from acidsql.scan.history_reader import HistoryReader
from acidsql.scan.snapshot import take_snapshot
from acidsql.scan.versions import HeldVersion
from acidsql.storage.listings import Listings

_UPDATE = "UPDATE"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commits:
    """Known facts about the write ids whose changes are reported.

    Attributes:
        updates: write ids whose delete events and rows are all halves of updates.
        times: commit times in microseconds since 1970, by write id; unknown times are left out.
    """

    updates: frozenset[int] = frozenset()
    times: Mapping[int, int]


@dataclass(slots=True, kw_only=True)
class ChangeLists:
    """Lists and directories of the changes of tables; each table's lists are looked up once.

    Attributes:
        reader: reader of the tables.
        txns: transactions that are visible.
        own_txns: transactions of the statement, whose writes are not committed yet.
        listings: directories that the statement has listed.
        ends: write ids that are visible at the end, by a table's full name, the moment, and
            whether commits at exactly that moment are visible.
    """

    reader: HistoryReader
    txns: ValidTxnList
    own_txns: frozenset[int]
    listings: Listings
    ends: dict[tuple[str, Moment | None, bool], ValidWriteIdList] = field(default_factory=dict)

    def end(self, table: Table, wanted: ChangeRange) -> ValidWriteIdList:
        """Return the write ids that are visible at the end of a table's changes.

        Raises:
            AcidAnalysisError: see ``Metastore.find_version``.
        """
        moment = wanted.last
        key = table.full_name, moment, wanted.includes_last
        if key in self.ends:
            return self.ends[key]
        learn_write_ids(self.reader, table, None)
        if moment is not None:
            self.ends[key] = self._visible(table, moment, itself=wanted.includes_last)
        else:
            metastore, name = self.reader.metastore, (table.database, table.name)
            committed = replace(self.txns, open=self.txns.open | self.own_txns)
            self.ends[key] = metastore.valid_write_ids(*name, committed)
        return self.ends[key]

    def _visible(self, table: Table, moment: Moment, *, itself: bool) -> ValidWriteIdList:
        """Return the write ids that are visible at a moment.

        Args:
            table: the table.
            moment: the moment.
            itself: whether commits at exactly that moment are visible.
        """
        if not itself and isinstance(moment, TimeMoment):
            moment = TimeMoment(microseconds=moment.microseconds - 1)
        elif not itself and isinstance(moment, TransactionMoment):
            moment = BeforeTransactionMoment(txn_id=moment.txn_id)
        write_ids = self._version(table, moment).write_ids
        if itself or not isinstance(moment, WriteIdMoment):
            return write_ids
        return without(write_ids, moment.write_id) if moment.write_id else nothing(table.full_name)

    def _version(self, table: Table, moment: Moment) -> TableVersion:
        moment = version_by_files(self.reader, table, moment)
        return self.reader.metastore.find_version(table.database, table.name, moment)

    def between(
        self,
        table: Table,
        wanted: ChangeRange,
        partitions: Collection[tuple[str, ...]] | None,
    ) -> tuple[ChangedWriteIds, list[ChangeSnapshot]]:
        """Return the write ids of a table's changes, and the directories that contain the changes.

        Args:
            table: the table.
            wanted: the changes.
            partitions: values of the partitions that are required, None for all.

        Raises:
            AcidAnalysisError: VERSION_NOT_FOUND, HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS;
                INVALID_CHANGE_RANGE, the end is before the beginning.
        """
        now = self.end(table, wanted)
        if wanted.first is None:
            seen = nothing(table.full_name)
            snapshots = [self._all_rows(table, now, partitions)]
        else:
            seen = self.seen(table, wanted, wanted.first, now)
            last = highest_valid(seen)
            if self.reader.metastore.capabilities.keeps_history:
                last = self._last_commit(table, seen)
            before = self._held(table, seen, last)
            snapshots = take_change_snapshots(
                self.reader, table, before, now, self.txns, self.listings, partitions
            )
        return ChangedWriteIds.between(seen, now), snapshots

    def _all_rows(
        self,
        table: Table,
        now: ValidWriteIdList,
        partitions: Collection[tuple[str, ...]] | None,
    ) -> ChangeSnapshot:
        """Return a snapshot where every row is a change."""
        taken = take_snapshot(
            self.reader.files,
            self.reader.metastore,
            table,
            self.txns,
            self.listings,
            partitions,
            self._held(table, now, highest_valid(now)),
        )
        changed = ChangedWriteIds.between(nothing(table.full_name), taken.write_ids)
        none = (None,) * len(taken.partitions)
        return ChangeSnapshot(snapshot=taken, changed=changed, replaced_by=none)

    def seen(
        self,
        table: Table,
        wanted: ChangeRange,
        first: Bound | ValidWriteIdList,
        now: ValidWriteIdList,
    ) -> ValidWriteIdList:
        """Return the write ids that were visible before the changes.

        Args:
            table: the table.
            wanted: the changes.
            first: beginning of the changes.
            now: write ids that are visible after the changes.

        Raises:
            AcidAnalysisError: INVALID_CHANGE_RANGE; see ``Metastore.find_version``.
        """
        if isinstance(first, ValidWriteIdList):
            seen, is_before = first, True
        else:
            seen = self._visible(table, first, itself=not wanted.includes_first)
            is_before = self._is_before(table, wanted, first, now)
        if not is_before or not shows_all_of(now, seen):
            raise AcidAnalysisError(
                "INVALID_CHANGE_RANGE",
                f"the changes of {table.full_name} end before they begin: give a last version, or "
                "time, that was committed after the first one",
                {"tableName": table.full_name},
            )
        return seen

    def _is_before(
        self, table: Table, wanted: ChangeRange, first: Bound, now: ValidWriteIdList
    ) -> bool:
        """Return whether the first moment is not later than the last one.

        This ignores whether the range includes the two moments.
        """
        last = wanted.last
        if isinstance(first, TimeMoment):
            return not isinstance(last, TimeMoment) or first.microseconds <= last.microseconds
        if last is not None and not wanted.includes_last:
            now = self._visible(table, last, itself=True)
        return shows_all_of(now, self._visible(table, first, itself=True))

    def _held(self, table: Table, seen: ValidWriteIdList, write_id: int) -> HeldVersion:
        """Protect the directories of a list's rows, and of all later changes, from cleaners.

        Args:
            table: the table.
            seen: the list.
            write_id: write id of the list's last commit.
        """
        version = TableVersion(write_id=write_id, committed=None, write_ids=seen)
        removed: Mapping[str | None, int] | None = {}
        if self.listings.txn_id is not None:
            name = table.database, table.name
            removed = self.reader.metastore.hold_history(self.listings.txn_id, *name, version)
        moment = WriteIdMoment(write_id=write_id)
        return HeldVersion(moment=moment, version=version, removed=removed)

    def _last_commit(self, table: Table, seen: ValidWriteIdList) -> int:
        """Return the write id of a list that committed last.

        Raises:
            AcidAnalysisError: the table has since been changed in a way that the history does not
                record (HISTORY_NOT_AVAILABLE, VERSION_HAS_OTHER_COLUMNS).
        """
        metastore = self.reader.metastore
        write_id = highest_valid(seen)
        while True:
            moment = WriteIdMoment(write_id=write_id)
            visible = metastore.find_version(table.database, table.name, moment).write_ids
            later = [w for w in visible.open | visible.aborted if seen.is_valid(w)]
            if not later:
                return write_id
            write_id = max(later)

    def commits(self, table: Table, changed: ChangedWriteIds, *, with_times: bool) -> Commits:
        """Return the known facts about the commits of some write ids.

        Args:
            table: the table.
            changed: the write ids.
            with_times: whether the commit times are needed, even if only files show them.
        """
        entries = [
            e
            for e in self.reader.metastore.history(table.database, table.name, None)
            if e.operation != COMPACT and changed.is_valid(e.write_id)
        ]
        times = {e.write_id: e.ended for e in entries}
        if with_times and not self.reader.metastore.capabilities.keeps_history:
            times = {
                e.write_id: e.ended
                for e in history_of_files(self.reader, table, below=None, most=None)
                if e.operation != COMPACT and changed.is_valid(e.write_id)
            }
        return Commits(
            updates=frozenset(e.write_id for e in entries if _is_update(e)),
            times={w: microseconds(t) for w, t in times.items() if t is not None},
        )


def _is_update(entry: HistoryEntry) -> bool:
    """Return whether all rows that a write id deleted and inserted are halves of updates."""
    counts = entry.counts
    if entry.operation == _UPDATE:
        return True
    return bool(counts.updated) and counts.inserted == 0 and counts.deleted == 0
