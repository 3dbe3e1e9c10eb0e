"""History of a table from its files, for a metastore that keeps no history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from acidsql.format.file_history import FoundDirectory, Writer, by_writer, operation_of
from acidsql.format.names import METADATA_FILE, DirectoryKind, is_hidden, parse_directory
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.history import COMPACT, UNCOUNTED, HistoryEntry, WriteCounts
from acidsql.metastore.model import FileFormat, Partition, Table, TxnState
from acidsql.scan.history_reader import HistoryReader
from acidsql.scan.streaming import may_be_written
from acidsql.storage.filesystem import FileVersion, Listing, child
from acidsql.storage.listings import Listings
from acidsql.storage.parallel import in_parallel


def history_of_files(
    reader: HistoryReader, table: Table, *, below: int | None, most: int | None
) -> tuple[HistoryEntry, ...]:
    """Return the newest write ids and compactions that left directories, newest first.

    A write id without a directory is missing. A compaction has merged it, or it was aborted and
    cleaned, or it changed no rows. The time of an entry is the time of the last change of a file.
    An update counts as an inserted row and a deleted row.

    Args:
        reader: reader of the table.
        table: the table.
        below: write ids from this one on are left out.
        most: largest number of entries.
    """
    metastore, listings = reader.metastore, Listings(reader.files, None)
    txns = metastore.valid_txns()
    places: Sequence[Partition] = [Partition(values=(), location=table.location)]
    if table.partition_columns:
        places = metastore.partitions(table.database, table.name)
    listings.fetch([place.location for place in places])
    directories = [one for place in places for one in _acid_directories(table, place, listings)]
    write_ids = metastore.valid_write_ids(table.database, table.name, txns)
    groups = by_writer(directories, below, most)
    listings.fetch([one.path for members in groups.values() for one in members])
    entries = []
    for writer, members in groups.items():
        listed = [(one, listings.get(one.path)) for one in members]
        state = _state(writer, txns, write_ids)
        entries.append(_entry(reader, table, writer, listed, state))
    return tuple(entries)


def _acid_directories(
    table: Table, place: Partition, listings: Listings
) -> Iterator[FoundDirectory]:
    partition = table.partition_name(place.values) if table.partition_columns else None
    for name in listings.get(place.location).names:
        directory = parse_directory(name)
        if directory is not None:
            path = child(place.location, name)
            yield FoundDirectory(partition=partition, path=path, directory=directory)


def _state(writer: Writer, txns: ValidTxnList, write_ids: ValidWriteIdList) -> TxnState:
    ids, number = (txns, writer.txn_id) if writer.is_compaction else (write_ids, writer.write_id)
    if ids.is_aborted(number):
        return TxnState.ABORTED
    return TxnState.COMMITTED if ids.is_valid(number) else TxnState.OPEN


def _entry(
    reader: HistoryReader,
    table: Table,
    writer: Writer,
    directories: Sequence[tuple[FoundDirectory, Listing]],
    state: TxnState,
) -> HistoryEntry:
    files = [_File(one, listing, name) for one, listing in directories for name in listing.files]
    modified = [_seconds(reader, f.path, f.version.modified) for f in files]
    data = [f for f in files if f.version.size and not is_hidden(f.name)]
    operation = COMPACT if writer.is_compaction else None
    counts = UNCOUNTED
    # The files of aborted and open transactions may be incomplete.
    if not writer.is_compaction and state is TxnState.COMMITTED:
        operation, counts = _change(reader, table, directories, data)
    return HistoryEntry(
        write_id=writer.write_id,
        first_write_id=writer.first_write_id,
        state=state,
        txn_id=writer.txn_id or None,
        ended=max(modified, default=None),
        operation=operation,
        partition=writer.partition,
        counts=replace(counts, files=len(data), size=sum(f.version.size for f in data)),
    )


def _change(
    reader: HistoryReader,
    table: Table,
    listed: Sequence[tuple[FoundDirectory, Listing]],
    data: Sequence[_File],
) -> tuple[str | None, WriteCounts]:
    """Return the operation that created some directories, and its counts of rows."""
    rows = in_parallel(lambda file: _rows(reader, table, file), data)
    of_kind: dict[bool, list[int | None]] = {False: [], True: []}
    for file, number in zip(data, rows, strict=True):
        of_kind[file.has_deletes].append(number)
    inserted, deleted = _total(of_kind[False]), _total(of_kind[True]) or 0
    directories = [one.directory for one, _ in listed]
    truncated = not data and all(METADATA_FILE in listing.names for _, listing in listed)
    operation = operation_of(directories, inserted, deleted, truncated=truncated)
    replaces = any(d.kind is DirectoryKind.BASE for d in directories)
    return operation, WriteCounts(
        inserted=inserted,
        updated=None if inserted and deleted else 0,
        deleted=None if replaces else deleted,
    )


def _total(numbers: Sequence[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if len(known) == len(numbers) else None


class _File(NamedTuple):
    """File in a directory."""

    parent: FoundDirectory
    listing: Listing
    name: str

    @property
    def path(self) -> str:
        return child(self.listing.path, self.name)

    @property
    def version(self) -> FileVersion:
        return self.listing.files[self.name]

    @property
    def has_deletes(self) -> bool:
        return self.parent.directory.kind is DirectoryKind.DELETE_DELTA


def _rows(reader: HistoryReader, table: Table, file: _File) -> int | None:
    """Return the number of rows or events in a file; None if its tail does not contain it."""
    if table.file_format is not FileFormat.ORC or may_be_written(file.parent.directory):
        return None
    return reader.tails.tail(file.path, file.version).rows


def _seconds(reader: HistoryReader, path: str, modified: int) -> float:
    """Return a modification time in seconds.

    Local file systems have nanoseconds, Hadoop has milliseconds.
    """
    return modified / (1e3 if reader.files.local(path) is None else 1e9)
