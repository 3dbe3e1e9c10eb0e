"""Snapshot of a table: its valid write ids, and the directories that they select."""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.names import (
    LONG_MIN,
    METADATA_FILE,
    VERSION_FILE,
    AcidDirectory,
    DirectoryKind,
    is_hidden,
    is_original_file,
    parse_bucket_file,
    parse_directory,
)
from acidsql.format.selection import (
    ACID_PREFIXES,
    AcidState,
    select,
    without_later_compactions,
)
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore import failures
from acidsql.metastore.model import Column, Partition, Table
from acidsql.metastore.protocol import Metastore
from acidsql.metastore.write_ids_ahead import keep_write_ids_ahead
from acidsql.scan.versions import (
    HeldVersion,
    check_version,
    check_version_is_readable,
    hold_version,
    refuse_without_base,
)
from acidsql.storage.directory import Listing, child
from acidsql.storage.listings import Listings
from acidsql.storage.readable_files import ReadableFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionSnapshot:
    """Directories that a snapshot reads in a partition, or in a table without partitions.

    Attributes:
        values: values of the partition columns; () for a table without partitions.
        location: location of the partition.
        state: directories that were selected.
        columns: the partition's own columns, None if it has the table's columns.
    """

    values: tuple[str, ...]
    location: str
    state: AcidState
    columns: tuple[Column, ...] | None = None

    def path(self, directory: AcidDirectory) -> str:
        """Return the path of a directory in the partition."""
        return child(self.location, directory.name)


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """Snapshot of a table for one statement.

    Attributes:
        table: definition of the table.
        txns: transactions that are visible.
        write_ids: write ids that are visible.
        partitions: partitions that were requested.
        listings: listings that all snapshots of the statement share.
        version: the old version that the snapshot shows, None for the current state.
    """

    table: Table
    txns: ValidTxnList
    write_ids: ValidWriteIdList
    partitions: tuple[PartitionSnapshot, ...]
    listings: Listings
    version: HeldVersion | None = None


def take_snapshot(
    files: ReadableFiles,
    metastore: Metastore,
    table: Table,
    txns: ValidTxnList,
    listings: Listings,
    wanted: Collection[tuple[str, ...]] | None = None,
    lists: tuple[ValidWriteIdList, ValidTxnList] | HeldVersion | None = None,
    added: Mapping[tuple[str, ...], Partition] = MappingProxyType({}),
) -> TableSnapshot:
    """List each partition of a table once, and select the directories that the statement sees.

    Args:
        txns: transactions that are visible.
        listings: listings of the statement; directories in them are not listed again.
        wanted: values of the partitions that are required, None for all; others are neither fetched
            nor listed.
        lists: valid lists that the caller already has, or the old version that the statement reads;
            None fetches the current lists from the metastore.
        added: new or changed partitions that the metastore may not know yet, by their values.

    Raises:
        AcidAnalysisError: HISTORY_NOT_AVAILABLE, directories of the version were removed.
        TableReplacedError: the table was replaced after it was looked up, or the snapshot does not
            show the replacement.
        FormatError: a directory is missing (DIRECTORY_NOT_FOUND), a file has lost its content
            (INVALID_ORC_TAIL), or names do not fit together.
        TransactionStateError: TXN_ABORTED, a read transaction timed out before everything was
            listed.
    """
    version = lists if isinstance(lists, HeldVersion) else None
    places: Sequence[Partition] = [Partition(values=(), location=table.location)]
    if table.partition_columns:
        known = {p.values: p for p in metastore.partitions(table.database, table.name, wanted)}
        unknown = {v: p for v, p in added.items() if wanted is None or v in wanted}
        places = [p for _, p in sorted({**known, **unknown}.items())]
    if listings.txn_id is not None:
        name = table.database, table.name
        txns = metastore.hold_back_cleaner(listings.txn_id, *name, txns)
    root = table.location if wanted is None and table.partition_columns else None
    listings.fetch([place.location for place in places], root)
    listed = [
        (place, with_nested_originals(files, listings, place.location, hidden=version is not None))
        for place in places
    ]
    for place in places:
        if files.object_store(place.location) is None:  # object stores lack empty directories
            check_is_there(metastore, table, place, listings)
    if lists is None or isinstance(lists, HeldVersion):
        if not metastore.capabilities.is_id_authority:
            every_name = [name for _, names in listed for name in names]
            is_behind = keep_write_ids_ahead(metastore, table, every_name)
            txns = with_unknown_compactions(metastore, txns, every_name)
            if version is not None and is_behind:
                version = hold_version(metastore, table, version.moment, listings.txn_id)
        write_ids = metastore.valid_write_ids(table.database, table.name, txns)
    else:
        write_ids, txns = lists
    if version is not None:
        states: Sequence[AcidState] = ()
        if version.removed is None:
            states = [state_of(files, p.location, names, write_ids, txns) for p, names in listed]
        check_version(metastore, table, version, newest_bases(table, places, states))
        write_ids = version.version.write_ids
    _check_definition(metastore, table, write_ids)
    partitions = tuple(
        PartitionSnapshot(
            values=place.values,
            location=place.location,
            state=_select(files, table, place.location, names, write_ids, txns, version),
            columns=place.columns,
        )
        for place, names in listed
    )
    if version is not None:
        check_version_is_readable(table, version, [p.state for p in partitions])
    selected = [(p.path(d), d) for p in partitions for d in p.state.directories]
    listings.fetch([path for path, _ in selected])
    for path, directory in selected:
        check_is_complete(directory, listings.get(path))
    _check_in_time(metastore, listings)
    return TableSnapshot(
        table=table,
        txns=txns,
        write_ids=write_ids,
        partitions=partitions,
        listings=listings,
        version=version,
    )


def _check_in_time(metastore: Metastore, listings: Listings) -> None:
    """Check that a read transaction protected the directories until they were listed.

    If the process was suspended, a cleaner may have removed directories that the snapshot needs. A
    base of a later INSERT OVERWRITE does not show that they are missing. A transaction cannot have
    timed out in less than half of the time-out.

    Raises:
        TransactionStateError: TXN_ABORTED.
    """
    if listings.txn_id is None or listings.opened_at is None:
        return
    if not 0 <= time.time() - listings.opened_at < metastore.txn_timeout / 2:
        metastore.require_open(listings.txn_id)


def _check_definition(metastore: Metastore, table: Table, write_ids: ValidWriteIdList) -> None:
    """Check that the definition of a table belongs to a snapshot.

    The table must not have been replaced between its lookup and the fetch of its partitions. The
    snapshot must show an earlier replacement.

    Raises:
        TableReplacedError: TABLE_REPLACED.
    """
    if not metastore.capabilities.replaces_tables:
        return
    now = metastore.find_table(table.database, table.name)
    is_other = now is not None and now.replaced_by != table.replaced_by
    if is_other or (table.replaced_by and not write_ids.is_valid(table.replaced_by)):
        raise failures.table_replaced(table)


def newest_bases(
    table: Table, places: Sequence[Partition], states: Sequence[AcidState]
) -> dict[str | None, int]:
    """Return the write ids of bases by the names of partitions or None; LONG_MIN for no base.

    Args:
        table: the table.
        places: partitions of the table.
        states: directories that are read in each partition now; () if they do not matter.
    """
    names = [table.partition_name(p.values) if table.partition_columns else None for p in places]
    bases = {n: s.base.max_write_id for n, s in zip(names, states, strict=False) if s.base}
    return {name: bases.get(name, LONG_MIN) for name in names}


def check_is_there(
    metastore: Metastore, table: Table, place: Partition, listings: Listings
) -> None:
    """Check that the directory of a table or partition exists.

    As in Hive, a missing directory does not count as empty, unless the partition has been dropped
    in the meantime.

    Raises:
        FormatError: DIRECTORY_NOT_FOUND.
    """
    if listings.get(place.location).exists:
        return
    what, instead = table.full_name, "DROP TABLE"
    if table.partition_columns:
        if not metastore.partitions(table.database, table.name, [place.values]):
            return
        what, instead = (
            f"{what}/{table.partition_name(place.values)}",
            "ALTER TABLE … DROP PARTITION",
        )
    raise FormatError(
        "DIRECTORY_NOT_FOUND",
        f"{place.location} of {what} does not exist: put it back, or forget it with {instead}",
    )


def check_is_complete(directory: AcidDirectory, listing: Listing) -> None:
    """Check that no bucket file has lost its content, as can happen after a power failure.

    In a directory of one write id with a version file, the writer closes or deletes each file
    before the commit; the writer is Hive (``OrcRecordUpdater``) or acidsql. An open streaming
    client with several write ids leaves empty files, and so can Hive's compactions by queries.

    Raises:
        FormatError: INVALID_ORC_TAIL.
    """
    several = directory.min_write_id != directory.max_write_id
    if several or directory.visibility_txn_id or VERSION_FILE not in listing.names:
        return
    for name, version in listing.files.items():
        if not version.size and parse_bucket_file(name):
            path = child(listing.path, name)
            raise FormatError(
                "INVALID_ORC_TAIL",
                f"{path} has lost its content, it has no bytes: put it back from a copy, or delete "
                "it to go on without its rows",
            )


def with_nested_originals(
    files: ReadableFiles, listings: Listings, location: str, *, hidden: bool = False
) -> Sequence[str]:
    """Return the names in a directory, and the files in subdirectories without ACID names.

    Hive wrote the results of UNION ALL into such subdirectories before the table became
    transactional (``AcidUtils.findOriginals``). If there is a base, they are not read.

    Args:
        files: file systems.
        listings: listings of the statement.
        location: the directory.
        hidden: whether to list the subdirectories even if there is a base, because an old version
            may not see that base.

    Returns:
        Names, and paths relative to the directory.
    """
    names = listings.get(location).names
    if not hidden and any(d.kind is DirectoryKind.BASE for d in map(parse_directory, names) if d):
        return names
    paths: list[str] = []
    for name in names:
        known = is_hidden(name) or is_original_file(name) or name.startswith(ACID_PREFIXES)
        if not known and files.is_directory(child(location, name)):
            below = with_nested_originals(files, listings, child(location, name))
            paths += [f"{name}/{path}" for path in below]
        else:
            paths.append(name)
    return paths


def with_unknown_compactions(
    metastore: Metastore, txns: ValidTxnList, names: Sequence[str]
) -> ValidTxnList:
    """Add transactions to a snapshot that are known only from the names of compacted directories.

    If the metastore's file was lost or restored, the name of a base can contain a transaction id
    that the metastore has not allocated since. Its compaction must have committed, because its
    directories are still in place. Ids that other writers got after the snapshot remain invisible.
    """
    highest = max((d.visibility_txn_id for d in map(parse_directory, names) if d), default=0)
    if highest <= txns.high_water_mark:
        return txns
    given = metastore.seed_txn_id(highest + 1)
    if given >= highest:
        return txns
    return ValidTxnList(
        high_water_mark=highest,
        open=txns.open | frozenset(range(txns.high_water_mark + 1, given + 1)),
        aborted=txns.aborted,
    )


def _select(
    files: ReadableFiles,
    table: Table,
    location: str,
    names: Sequence[str],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
    version: HeldVersion | None = None,
) -> AcidState:
    if version is not None:
        # ``check_version`` has shown that the directories which these compactions made obsolete
        # still exist.
        names = without_later_compactions(names, version.version.complete_up_to)
    try:
        state = state_of(files, location, names, write_ids, txns)
    except AcidAnalysisError as error:
        if version is None:
            raise
        refuse_without_base(table, version, error)
    if state.originals and table.insert_only:
        raise FormatError(
            "UNSUPPORTED_ORIGINAL_FILES",
            f"{child(location, state.originals[0])} lies outside the base and delta directories "
            "of an insert-only table, where Hive does not read it either: move it out of the table",
        )
    return state


def state_of(
    files: ReadableFiles,
    location: str,
    names: Sequence[str],
    write_ids: ValidWriteIdList,
    txns: ValidTxnList,
) -> AcidState:
    """Select the directories that a snapshot reads (``format.selection.select``).

    Raises:
        FormatError: the error of ``select``, with the location in its message.
    """
    try:
        return select(names, write_ids, txns, base_formats(files, location, names, write_ids))
    except FormatError as error:
        raise FormatError(error.condition, f"in {location}, {error.message}") from error


def base_formats(
    files: ReadableFiles, location: str, names: Sequence[str], write_ids: ValidWriteIdList
) -> dict[str, str]:
    """Read ``dataFormat`` of each base that has a ``_metadata_acid``.

    Hive 3.1's compactor writes this file. A base with a ``_v`` suffix is known to be compacted, so
    its file is not read.

    Raises:
        FormatError: INVALID_BASE_METADATA.
    """
    bases = [d for d in map(parse_directory, names) if d and d.kind is DirectoryKind.BASE]
    formats = {}
    for base in bases:
        path = child(location, base.name, METADATA_FILE)
        if base.visibility_txn_id or not files.exists(path):
            continue
        try:
            formats[base.name] = str(json.loads(files.read(path))["dataFormat"])
        except (ValueError, KeyError, TypeError) as error:
            # A TRUNCATE that a power failure interrupted leaves such a file. Its base is invisible.
            alone = list(files.names(child(location, base.name))) == [METADATA_FILE]
            if write_ids.is_valid(base.max_write_id) or not alone:
                raise FormatError(
                    "INVALID_BASE_METADATA", f"{path} is damaged: put it back from a copy"
                ) from error
    return formats
