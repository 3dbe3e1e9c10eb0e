"""Changes that other transactions have committed to a table since a snapshot.

They are read from the directories of these transactions. Compactions do not remove such a
directory while an older transaction is open (``transactions.comparison``).
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
    """Changes that some write ids have made in a partition, or in a table without partitions.

    Attributes:
        partition: the partition.
        replaced: whether one of the write ids has replaced all rows.
        inserts: deltas with the inserted rows.
        deletes: deltas with the delete events.
        is_new: whether no other transaction has written into the partition.
    """

    partition: Partition
    replaced: bool
    inserts: tuple[AcidDirectory, ...]
    deletes: tuple[AcidDirectory, ...]
    is_new: bool


def committed_since(seen: ValidWriteIdList, now: ValidWriteIdList) -> frozenset[int]:
    """Return the write ids that are valid in the list ``now`` and not in the older ``seen``."""
    later = range(seen.high_water_mark + 1, now.high_water_mark + 1)
    return frozenset(w for w in chain(seen.open, later) if now.is_valid(w))


def changes_of(
    session: AcidSession, partitions: Sequence[Partition], write_ids: Collection[int]
) -> list[PartitionChanges]:
    """Return the changes of some write ids; partitions without changes are left out."""
    listed = session.files.list_all([p.location for p in partitions])
    changes = (
        _changes(partition, listing.names, write_ids)
        for partition, listing in zip(partitions, listed, strict=True)
    )
    return [c for c in changes if c.replaced or c.inserts or c.deletes]


def _changes(
    partition: Partition, names: Iterable[str], write_ids: Collection[int]
) -> PartitionChanges:
    written, others = [], []
    for directory in filter(None, map(parse_directory, names)):
        if directory.visibility_txn_id:
            # No compaction can have merged these write ids and removed their own directories.
            others += [directory] if directory.kind is DirectoryKind.BASE else []
        elif any(directory.min_write_id <= w <= directory.max_write_id for w in write_ids):
            written.append(directory)
        else:
            others.append(directory)
    return PartitionChanges(
        partition=partition,
        replaced=any(d.kind is DirectoryKind.BASE for d in written),
        inserts=tuple(d for d in written if d.kind is DirectoryKind.DELTA),
        deletes=tuple(d for d in written if d.kind is DirectoryKind.DELETE_DELTA),
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
        changes: changes of these write ids; at least one.
        write_ids: at least one write id.
        txns: transactions that are visible.
        listings: directories that the statement has listed.
    """
    highest = max(write_ids)
    # A delta that covers several transactions can contain rows of other write ids.
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
        required: rows that must be returned; the result may lack other rows.
    """
    partitions = tuple(p for p in snapshot.partitions if p.values == values)
    wanted = replace(required, count_only=False, distinct_partitions_only=False, columns=None)
    record = ScanRecord(snapshot=replace(snapshot, partitions=partitions), required=wanted)
    return scan(session, record).frame()


def deleted_row_ids(
    session: AcidSession, changes: PartitionChanges, most: int
) -> list[tuple[int, int, int]] | None:
    """Return the ids of the rows that were deleted in a partition; None if there are too many.

    Args:
        most: largest number of ids to return.
    """
    directories = [child(changes.partition.location, d.name) for d in changes.deletes]
    files = [
        file
        for listing in session.files.list_all(directories)
        for file in delete_files(session, listing)
    ]
    if sum(file.tail.rows for file in files) > most:
        return None
    row_ids: set[tuple[int, int, int]] = set()
    for file in files:
        events = session.delete_events.events(file.path, file.version)
        columns = [events[name].to_pylist() for name in ("write_id", "bucket", "row_id")]
        row_ids.update(zip(*columns, strict=True))
    return sorted(row_ids)
