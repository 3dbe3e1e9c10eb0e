"""Changes that others have committed to a table since a snapshot, read from their directories.

These directories are still there while a transaction that is older than them is open, whatever was
compacted since (``transactions.comparison``).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from pyspark.sql import DataFrame

from acidsql.format.names import AcidDirectory, DirectoryKind, parse_directory
from acidsql.format.selection import AcidState
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Partition, Table
from acidsql.scan.directories import delete_files
from acidsql.scan.plan import scan
from acidsql.scan.record import ScanRecord
from acidsql.scan.required_rows import RequiredRows
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionChanges:
    """Changes of some write ids in a partition, or in a table without partitions.

    Attributes:
        partition: the partition.
        replaced: whether one of them has replaced all rows.
        inserts: deltas with their rows.
        deletes: deltas with their delete events.
        is_new: whether no other transaction has written there.
    """

    partition: Partition
    replaced: bool
    inserts: tuple[AcidDirectory, ...]
    deletes: tuple[AcidDirectory, ...]
    is_new: bool


def committed_since(seen: ValidWriteIdList, now: ValidWriteIdList) -> frozenset[int]:
    """Return the write ids that one list shows and an older one does not."""
    later = range(seen.high_water_mark + 1, now.high_water_mark + 1)
    return frozenset(w for w in chain(seen.open, later) if now.is_valid(w))


def changes_of(
    session: AcidSession, partitions: Sequence[Partition], write_ids: Collection[int]
) -> list[PartitionChanges]:
    """Return the changes of some write ids; partitions without any are left out."""
    listed = session.files.list_all([p.location for p in partitions])
    found = (
        _changes(partition, listing.names, write_ids)
        for partition, listing in zip(partitions, listed, strict=True)
    )
    return [c for c in found if c.replaced or c.inserts or c.deletes]


def _changes(
    partition: Partition, names: Iterable[str], write_ids: Collection[int]
) -> PartitionChanges:
    own, others = [], []
    for directory in filter(None, map(parse_directory, names)):
        if directory.visibility_txn_id:
            # No compaction can have merged these write ids and left nothing else of them.
            others += [directory] if directory.kind is DirectoryKind.BASE else []
        elif any(directory.min_write_id <= w <= directory.max_write_id for w in write_ids):
            own.append(directory)
        else:
            others.append(directory)
    return PartitionChanges(
        partition=partition,
        replaced=any(d.kind is DirectoryKind.BASE for d in own),
        inserts=tuple(d for d in own if d.kind is DirectoryKind.DELTA),
        deletes=tuple(d for d in own if d.kind is DirectoryKind.DELETE_DELTA),
        is_new=not others,
    )


def inserted_rows(
    session: AcidSession,
    table: Table,
    changes: Sequence[PartitionChanges],
    write_ids: Collection[int],
    txns: ValidTxnList,
    listings: Listings,
) -> DataFrame:
    """Return the rows that some write ids have inserted and not deleted again.

    Args:
        changes: of these write ids; at least one.
        write_ids: at least one.
        txns: transactions that are visible.
        listings: of the statement.
    """
    highest = max(write_ids)
    # A delta of several transactions may have rows of others.
    lowest = min(d.min_write_id for c in changes for d in (*c.inserts, *c.deletes))
    shown = ValidWriteIdList(
        table=table.full_name,
        high_water_mark=highest,
        open=frozenset(range(lowest, highest)) - frozenset(write_ids),
    )
    partitions = tuple(
        PartitionSnapshot(
            values=c.partition.values,
            location=c.partition.location,
            state=AcidState(deltas=(*c.inserts, *c.deletes)),
            columns=c.partition.columns,
        )
        for c in changes
    )
    snapshot = TableSnapshot(
        table=table, txns=txns, write_ids=shown, partitions=partitions, listings=listings
    )
    return scan(session, ScanRecord(snapshot=snapshot)).frame()


def rows_before(
    session: AcidSession, snapshot: TableSnapshot, values: tuple[str, ...], required: RequiredRows
) -> DataFrame:
    """Return the rows that a snapshot shows in one of its partitions.

    Args:
        required: rows that are all wanted; others may be left out.
    """
    own = tuple(p for p in snapshot.partitions if p.values == values)
    wanted = replace(required, count_only=False, distinct_partitions_only=False, columns=None)
    record = ScanRecord(snapshot=replace(snapshot, partitions=own), required=wanted)
    return scan(session, record).frame()


def deleted_row_ids(
    session: AcidSession, changes: PartitionChanges, most: int
) -> list[tuple[int, int, int]] | None:
    """Return the ids of the rows that were deleted in a partition; None if there are too many.

    Args:
        most: largest number of them.
    """
    directories = [child(changes.partition.location, d.name) for d in changes.deletes]
    files = [
        file
        for listing in session.files.list_all(directories)
        for file in delete_files(session, listing)
    ]
    if sum(file.tail.rows for file in files) > most:
        return None
    found: set[tuple[int, int, int]] = set()
    for file in files:
        events = session.delete_events.events(file.path, file.version)
        columns = [events[name].to_pylist() for name in ("write_id", "bucket", "row_id")]
        found.update(zip(*columns, strict=True))
    return sorted(found)
