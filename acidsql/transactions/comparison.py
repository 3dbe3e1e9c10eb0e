"""Comparison of a transaction with those that have committed since it was opened, by rows.

The directories that are read stay while this transaction is open. Others committed after it was
opened, and a compaction of what they wrote has committed later still. The cleaner waits for every
transaction that was open then.
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

Place = tuple[TableName, str | None]
"""Table, and the name of a partition; None in a table without partitions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeletedRows:
    """Rows that a transaction has deleted, or replaced by an UPDATE, in a partition.

    Attributes:
        location: of the partition.
        directories: paths of its delete deltas.
    """

    location: str
    directories: tuple[str, ...]


def deleted_rows(
    table: Table, touched: Mapping[tuple[str, ...], Partition], placed: Iterable[str]
) -> dict[Place, DeletedRows]:
    """Return where a transaction has deleted rows of a table.

    Args:
        table: the table.
        touched: partitions that it has written to, by values.
        placed: paths of the directories that it has moved to their places.
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
        (of_table, names[values]): DeletedRows(
            location=partition.location, directories=tuple(directories[partition.location])
        )
        for values, partition in touched.items()
        if partition.location in directories
    }


class Watch(Protocol):
    """Watch of what may not have changed at a commit, beside the rows that it deletes."""

    def compare(self) -> Mapping[TableName, ValidWriteIdList]:
        """Look at what others have committed since.

        Returns:
            The write ids that were looked at, by table.

        Raises:
            WriteConflictError: CONCURRENT_WRITE.
        """


@dataclass(slots=True, kw_only=True)
class Comparison:
    """Comparison of a transaction's changes with those of others.

    Attributes:
        session: the session.
        txn_id: the transaction.
        deleted: rows that it has deleted.
        watches: what else may not have changed.
        disjoint: transactions that have no row in common with it.
    """

    session: AcidSession
    txn_id: int
    deleted: Mapping[Place, DeletedRows]
    watches: Sequence[Watch] = ()
    disjoint: set[int] = field(default_factory=set)
    _own: dict[Place, _Deletes] = field(default_factory=dict)
    _own_keys: dict[Place, RowIdSet] = field(default_factory=dict)

    def compare(self) -> Compared:
        """Compare with those that have committed since the last call.

        Raises:
            WriteConflictError: CONCURRENT_WRITE, they have changed the same rows.
        """
        found = {
            (other.txn_id, other.place): other
            for other in self.session.metastore.concurrent_writes(self.txn_id)
            if other.txn_id not in self.disjoint
        }
        directories: dict[str, Sequence[AcidDirectory]] = {}
        for other in found.values():
            if self._meets(other, directories):
                raise failures.write_conflict(
                    self.txn_id,
                    other.own_operation,
                    object_name(other.database, other.table, other.partition),
                    other.txn_id,
                    other.operation,
                )
        self.disjoint.update(txn_id for txn_id, _ in found)
        watched: dict[TableName, ValidWriteIdList] = {}
        for watch in self.watches:
            watched.update(watch.compare())
        return Compared(disjoint=frozenset(self.disjoint), watched=watched)

    def _meets(
        self, other: ConcurrentWrite, directories: dict[str, Sequence[AcidDirectory]]
    ) -> bool:
        """Return whether another write has changed rows that this transaction has changed too, or
        so many that this cannot be determined.

        Args:
            other: that has committed.
            directories: of partitions that were listed since, by location.
        """
        deleted = self.deleted.get(other.place)
        if deleted is None:
            # An UPDATE of a table without partitions that found no row; a partition is named only
            # when it has delete events.
            return other.partition is not None
        place = other.place
        if place not in self._own:
            files = self._files(deleted.directories)
            self._own[place] = _Deletes(session=self.session, files=files)
        own = self._own[place]
        if deleted.location not in directories:
            parsed = map(parse_directory, self.session.files.names(deleted.location))
            directories[deleted.location] = [d for d in parsed if d is not None]
        listed = directories[deleted.location]
        theirs = self._deleted_by(deleted.location, listed, other.write_id)
        if theirs is None or own.events + theirs.events > limits().compared_events:
            return True
        near = theirs.near(own)
        if not near:
            return False
        if place not in self._own_keys:
            self._own_keys[place] = own.keys(own.files)
        return self._own_keys[place].common(theirs.keys(near)) is not None

    def _deleted_by(
        self, location: str, listed: Sequence[AcidDirectory], write_id: int
    ) -> _Deletes | None:
        """Return the delete events of a write id in a partition; None if they are not there."""
        found = [d for d in listed if d.max_write_id >= write_id]
        deltas = [
            d for d in found if d.kind is DirectoryKind.DELETE_DELTA and d.min_write_id <= write_id
        ]
        alone = [d for d in deltas if d.max_write_id == d.min_write_id and not d.visibility_txn_id]
        if not deltas and any(d.kind is DirectoryKind.BASE for d in found):
            return None
        paths = [child(location, d.name) for d in alone or deltas]
        return _Deletes(
            session=self.session,
            files=self._files(paths),
            write_id=None if alone else write_id,
        )

    def _files(self, directories: Iterable[str]) -> tuple[DeleteFile, ...]:
        listed = self.session.files.list_all(list(directories))
        return tuple(file for each in listed for file in delete_files(self.session, each))


def comparison(
    session: AcidSession,
    txn_id: int,
    deleted: Iterable[Mapping[Place, DeletedRows]],
    watches: Sequence[Watch],
) -> Callable[[], Compared] | None:
    """Return what compares the changes of a transaction with those of others before its commit;
    None where the metastore compares partitions.

    Args:
        deleted: rows that it has deleted, of each table.
        watches: what else may not have changed.
    """
    if not session.metastore.capabilities.compares_rows:
        return None
    places: dict[Place, DeletedRows] = {}
    for own in deleted:
        for place, rows in own.items():
            # Several parts of one transaction may delete in one place.
            earlier = places.get(place, replace(rows, directories=()))
            places[place] = replace(rows, directories=earlier.directories + rows.directories)
    made = Comparison(session=session, txn_id=txn_id, deleted=places, watches=watches)
    return made.compare


@dataclass(frozen=True, slots=True, kw_only=True)
class _Deletes:
    """Delete events in some files.

    Attributes:
        session: the session.
        files: the files.
        write_id: of the transaction whose events count; None counts all.
    """

    session: AcidSession
    files: tuple[DeleteFile, ...]
    write_id: int | None = None

    @property
    def events(self) -> int:
        """Number of events in the files."""
        return sum(file.tail.rows for file in self.files)

    def near(self, other: _Deletes) -> tuple[DeleteFile, ...]:
        """Return the files whose row ids are in the ranges of another one's, by statistics."""
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
    """Return whether two delete files may have row ids in common, by their statistics."""
    for column in (ORIGINAL_WRITE_ID, ROW_ID):
        one, two = file.tail.file_int_stats(column), other.tail.file_int_stats(column)
        if one and two and (one.maximum < two.minimum or two.maximum < one.minimum):
            return False
    return True
