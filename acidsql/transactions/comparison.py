"""Comparison of a transaction, by rows, with transactions that have committed since it was opened.

The directories that are read remain while this transaction is open. The other transactions
committed after it was opened, and a compaction of their writes committed even later. The cleaner
waits for every transaction that was open at that time.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import pyarrow as pa
import pyarrow.compute as pc

from acidsql.format.names import AcidDirectory, DirectoryKind, parse_directory
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.injection_points import Point, reach
from acidsql.limits import limits
from acidsql.metastore import failures
from acidsql.metastore.comparison import Compared, ConcurrentWrite, TableName
from acidsql.metastore.model import Partition, Table
from acidsql.metastore.names import object_name, partition_name
from acidsql.scan.directories import DeleteFile, delete_files
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import DELETED_BY
from acidsql.storage.filesystem import child
from acidsql.storage.row_id_sets import RowIdSet
from acidsql.storage.tails import ORIGINAL_WRITE_ID, ROW_ID

TablePartition = tuple[TableName, str | None]
"""Table, and the name of a partition; None in a table without partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionDeletes:
    """Rows that a transaction has deleted, or replaced by an UPDATE, in a partition.

    Attributes:
        location: location of the partition.
        directories: paths of the transaction's delete deltas in the partition.
    """

    location: str
    directories: tuple[str, ...]


def deleted_rows(
    table: Table, touched: Mapping[tuple[str, ...], Partition], placed: Iterable[str]
) -> dict[TablePartition, PartitionDeletes]:
    """Return the places where a transaction has deleted rows of a table.

    Args:
        table: the table.
        touched: partitions that the transaction has written to, by values.
        placed: paths of the directories that the transaction has published.
    """
    directories: dict[str, list[str]] = defaultdict(list)
    for path in placed:
        location, _, name = path.rpartition("/")
        directory = parse_directory(name)
        if directory is not None and directory.kind is DirectoryKind.DELETE_DELTA:
            directories[location].append(path)
    of_table = table.database, table.name
    names = {v: partition_name(table.partition_name(v)) if v else None for v in touched}
    return {
        (of_table, names[values]): PartitionDeletes(
            location=partition.location, directories=tuple(directories[partition.location])
        )
        for values, partition in touched.items()
        if partition.location in directories
    }


class ConflictCheck(Protocol):
    """Conflict check, at a commit, of data that must not have changed besides the deleted rows."""

    def compare(self) -> Mapping[TableName, ValidWriteIdList]:
        """Examine the commits of other transactions since the last call.

        Returns:
            The write ids that were examined, by table.

        Raises:
            WriteConflictError: CONCURRENT_WRITE.
        """


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Comparison of a transaction's changes with the changes of other transactions.

    Attributes:
        session: the session.
        txn_id: id of the transaction.
        deleted: rows that the transaction has deleted.
        conflict_checks: checks of other data that must not have changed.
        disjoint: other transactions that have changed none of the same rows.
    """

    session: AcidSession
    txn_id: int
    deleted: Mapping[TablePartition, PartitionDeletes]
    conflict_checks: Sequence[ConflictCheck] = ()
    disjoint: set[int] = field(default_factory=set)
    _our_deletes: dict[TablePartition, _Deletes] = field(default_factory=dict)
    _our_row_ids: dict[TablePartition, RowIdSet] = field(default_factory=dict)

    def compare(self) -> Compared:
        """Compare with the transactions that have committed since the last call.

        Raises:
            WriteConflictError: CONCURRENT_WRITE, one of them has changed the same rows.
        """
        others = {
            (other.txn_id, other.place): other
            for other in self.session.metastore.concurrent_writes(self.txn_id)
            if other.txn_id not in self.disjoint
        }
        directories: dict[str, Sequence[AcidDirectory]] = {}
        for other in others.values():
            if self._meets(other, directories):
                raise failures.write_conflict(
                    self.txn_id,
                    other.own_operation,
                    object_name(other.database, other.table, other.partition),
                    other.txn_id,
                    other.operation,
                )
        self.disjoint.update(txn_id for txn_id, _ in others)
        watched: dict[TableName, ValidWriteIdList] = {}
        for check in self.conflict_checks:
            watched.update(check.compare())
        reach(Point.COMPARED, self)
        return Compared(disjoint=frozenset(self.disjoint), watched=watched)

    def _meets(
        self, other: ConcurrentWrite, directories: dict[str, Sequence[AcidDirectory]]
    ) -> bool:
        """Return whether another write has changed rows that this transaction has changed too.

        The result is also True if there are too many changed rows to determine this.

        Args:
            other: committed write.
            directories: directories of the partitions that were listed already, by location.
        """
        deleted = self.deleted.get(other.place)
        if deleted is None:
            # In a table without partitions this is an UPDATE that changed no row. A partition is
            # reported to the metastore only when it has delete events.
            return other.partition is not None
        place = other.place
        if place not in self._our_deletes:
            files = self._files(deleted.directories)
            self._our_deletes[place] = _Deletes(session=self.session, files=files)
        ours = self._our_deletes[place]
        if deleted.location not in directories:
            parsed = map(parse_directory, self.session.files.names(deleted.location))
            directories[deleted.location] = [d for d in parsed if d is not None]
        listed = directories[deleted.location]
        theirs = self._deleted_by(deleted.location, listed, other.write_id)
        if theirs is None or ours.events + theirs.events > limits().compared_events:
            return True
        near = theirs.near(ours)
        if not near:
            return False
        if place not in self._our_row_ids:
            self._our_row_ids[place] = ours.keys(ours.files)
        return self._our_row_ids[place].common(theirs.keys(near)) is not None

    def _deleted_by(
        self, location: str, listed: Sequence[AcidDirectory], write_id: int
    ) -> _Deletes | None:
        """Return the delete events of a write id in a partition; None if they no longer exist."""
        later = [d for d in listed if d.max_write_id >= write_id]
        deltas = [
            d for d in later if d.kind is DirectoryKind.DELETE_DELTA and d.min_write_id <= write_id
        ]
        unmerged = [
            d for d in deltas if d.max_write_id == d.min_write_id and not d.visibility_txn_id
        ]
        if not deltas and any(d.kind is DirectoryKind.BASE for d in later):
            return None
        paths = [child(location, d.name) for d in unmerged or deltas]
        return _Deletes(
            session=self.session,
            files=self._files(paths),
            write_id=None if unmerged else write_id,
        )

    def _files(self, directories: Iterable[str]) -> tuple[DeleteFile, ...]:
        listed = self.session.files.list_all(list(directories))
        return tuple(file for each in listed for file in delete_files(self.session, each))


def comparison(
    session: AcidSession,
    txn_id: int,
    deleted: Iterable[Mapping[TablePartition, PartitionDeletes]],
    conflict_checks: Sequence[ConflictCheck],
) -> Callable[[], Compared] | None:
    """Return a function that compares a transaction's changes with other transactions' changes.

    The transaction calls it before its commit.

    Args:
        deleted: rows that the transaction has deleted, for each table.
        conflict_checks: checks of other data that must not have changed.

    Returns:
        None if the metastore compares partitions.
    """
    if not session.metastore.capabilities.compares_rows:
        return None
    places: dict[TablePartition, PartitionDeletes] = {}
    for by_place in deleted:
        for place, rows in by_place.items():
            # Several statements of one transaction can delete rows in the same place.
            earlier = places.get(place, replace(rows, directories=()))
            places[place] = replace(rows, directories=earlier.directories + rows.directories)
    made = Comparison(
        session=session, txn_id=txn_id, deleted=places, conflict_checks=conflict_checks
    )
    return made.compare


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """Delete events in some files.

    Attributes:
        session: the session.
        files: the files.
        write_id: write id of the transaction; only its events count. None counts all events.
    """

    session: AcidSession
    files: tuple[DeleteFile, ...]
    write_id: int | None = None

    @property
    def events(self) -> int:
        """Number of events in the files."""
        return sum(file.tail.rows for file in self.files)

    def near(self, other: _Deletes) -> tuple[DeleteFile, ...]:
        """Return the files with row id ranges that overlap those of ``other``, by statistics."""
        return tuple(file for file in self.files if any(_overlap(file, o) for o in other.files))

    def keys(self, files: Sequence[DeleteFile]) -> RowIdSet:
        """Return the row ids of the events in some of the files."""
        return RowIdSet.of(map(self._events, files))

    def _events(self, file: DeleteFile) -> pa.Table:
        events = self.session.delete_events.events(file.path, file.version)
        if self.write_id is None:
            return events
        return events.filter(pc.equal(events[DELETED_BY], self.write_id))


def _overlap(file: DeleteFile, other: DeleteFile) -> bool:
    """Return whether two delete files can have common row ids, by their statistics."""
    for column in (ORIGINAL_WRITE_ID, ROW_ID):
        one, two = file.tail.file_int_stats(column), other.tail.file_int_stats(column)
        if one and two and (one.maximum < two.minimum or two.maximum < one.minimum):
            return False
    return True
