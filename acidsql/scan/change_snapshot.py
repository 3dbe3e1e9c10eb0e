"""Snapshots that contain the changes of a table between two valid lists."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.change_selection import Segment, change_segments, compactions_between
from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.history import COMPACT
from acidsql.metastore.model import CompactionType, Partition, Table
from acidsql.metastore.version_failures import history_not_available
from acidsql.scan.history_reader import HistoryReader
from acidsql.scan.snapshot import (
    PartitionSnapshot,
    TableSnapshot,
    base_formats,
    check_is_complete,
    check_is_there,
    newest_bases,
    state_of,
    with_nested_originals,
    with_unknown_compactions,
)
from acidsql.scan.versions import HeldVersion, check_version, refuse_without_base
from acidsql.storage.listings import Listings


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangeSnapshot:
    """Directories with changes: the latest of each partition, or directories that a base replaced.

    Attributes:
        snapshot: shows the rows of these directories that the newer list shows.
        changed: write ids whose changes are reported.
        replaced_by: write id of the base that replaced the rows of each partition of the snapshot;
            None for a partition without such a base.
    """

    snapshot: TableSnapshot
    changed: ChangedWriteIds
    replaced_by: tuple[int | None, ...]


def take_change_snapshots(
    reader: HistoryReader,
    table: Table,
    before: HeldVersion,
    now: ValidWriteIdList,
    txns: ValidTxnList,
    listings: Listings,
    wanted: Collection[tuple[str, ...]] | None,
) -> list[ChangeSnapshot]:
    """List the partitions of a table, and select the directories that contain its changes.

    Args:
        reader: reader of the table.
        table: the table.
        before: held version after which changes are reported.
        now: write ids that are visible after the changes.
        txns: transactions that are visible now; they determine which compactions are visible.
        listings: directories that the statement has listed.
        wanted: values of the partitions that are required, None for all.

    Returns:
        At least one snapshot. A snapshot contains each partition at most once.

    Raises:
        AcidAnalysisError: HISTORY_NOT_AVAILABLE.
        FormatError: see ``snapshot.take_snapshot``.
    """
    files, metastore = reader.files, reader.metastore
    seen = before.version.write_ids
    places: Sequence[Partition] = [Partition(values=(), location=table.location)]
    if table.partition_columns:
        places = sorted(
            metastore.partitions(table.database, table.name, wanted), key=lambda p: p.values
        )
    if listings.txn_id is not None:
        txns = metastore.hold_back_cleaner(listings.txn_id, table.database, table.name, txns)
    listings.fetch([place.location for place in places])
    listed = [
        (place, with_nested_originals(files, listings, place.location, hidden=True))
        for place in places
    ]
    for place in places:
        check_is_there(metastore, table, place, listings)
    if not metastore.capabilities.is_id_authority:
        txns = with_unknown_compactions(metastore, txns, [n for _, names in listed for n in names])
    states = []
    if before.removed is None:
        current = metastore.valid_write_ids(table.database, table.name, txns)
        states = [state_of(files, p.location, names, current, txns) for p, names in listed]
    check_version(metastore, table, before, newest_bases(table, places, states))
    levels: list[list[tuple[Partition, Segment]]] = [[]]
    for place, names in listed:
        formats = base_formats(files, place.location, names, now)
        try:
            merged = compactions_between(names, seen, now, txns, formats)
            segments = change_segments(names, seen, now, txns, formats)
        except FormatError as error:
            raise FormatError(error.condition, f"in {place.location}, {error.message}") from error
        except AcidAnalysisError as error:
            refuse_without_base(table, before, error)
        _check_row_ids_are_kept(reader, table, before, {d.visibility_txn_id for d in merged})
        for level, segment in enumerate(reversed(segments)):
            if level == len(levels):
                levels.append([])
            levels[level].append((place, segment))
    changed = ChangedWriteIds.between(seen, now)
    snapshots = [_change_snapshot(table, txns, now, changed, listings, level) for level in levels]
    places_of_rows = [
        (p.path(d), d)
        for changes in snapshots
        for p in changes.snapshot.partitions
        for d in p.state.directories
    ]
    listings.fetch(sorted({path for path, _ in places_of_rows}))
    for path, directory in places_of_rows:
        check_is_complete(directory, listings.get(path))
    return snapshots


def _change_snapshot(
    table: Table,
    txns: ValidTxnList,
    now: ValidWriteIdList,
    changed: ChangedWriteIds,
    listings: Listings,
    level: Sequence[tuple[Partition, Segment]],
) -> ChangeSnapshot:
    partitions = tuple(
        PartitionSnapshot(
            values=place.values,
            location=place.location,
            state=segment.state,
            columns=place.columns,
        )
        for place, segment in level
    )
    return ChangeSnapshot(
        snapshot=TableSnapshot(
            table=table, txns=txns, write_ids=now, partitions=partitions, listings=listings
        ),
        changed=changed,
        replaced_by=tuple(segment.replaced_by for _, segment in level),
    )


def only_changed(changes: ChangeSnapshot) -> TableSnapshot:
    """Return the snapshot that shows only the changes of the write ids."""
    return replace(changes.snapshot, write_ids=changes.changed)


def _check_row_ids_are_kept(
    reader: HistoryReader, table: Table, before: HeldVersion, compactions: set[int]
) -> None:
    """Check that no compaction was a rebalance.

    A rebalance gives rows new row ids. Later delete events then name other row ids than the
    directories that the rebalance merged.

    Args:
        reader: reader of the table.
        table: the table.
        before: version after which changes are reported.
        compactions: transaction ids of the compactions.

    Raises:
        AcidAnalysisError: HISTORY_NOT_AVAILABLE.
    """
    if not compactions:
        return
    kept = {
        entry.txn_id
        for entry in reader.metastore.history(table.database, table.name, None)
        if entry.operation == COMPACT and entry.statement == CompactionType.MAJOR.value
    }
    if compactions - kept:
        raise history_not_available(
            table.full_name,
            before.moment,
            "a rebalance has given its rows new row ids later, or a compaction may have that the "
            "history does not know",
            None,
        )
