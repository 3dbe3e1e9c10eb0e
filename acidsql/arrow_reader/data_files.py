"""Files with the rows of a snapshot, and the positions of the table's columns in them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from acidsql.arrow_reader.cached_files import CachedFiles
from acidsql.arrow_reader.orc_file import KnownTail
from acidsql.format.names import is_hidden
from acidsql.format.selection import needs_row_filter
from acidsql.scan.directories import (
    DataDirectory,
    bucket_files,
    check_events,
    insert_directories,
    is_raw,
    row_names,
    visible_columns,
)
from acidsql.scan.original_files import OriginalFile, original_files
from acidsql.scan.snapshot import TableSnapshot, with_nested_originals
from acidsql.scan.streaming import complete_lengths, may_be_written
from acidsql.storage.directory import FileVersion, Listing, child
from acidsql.storage.parallel import in_parallel


@dataclass(frozen=True, slots=True, kw_only=True)
class ArrowDataFile:
    """File with rows.

    Attributes:
        path: qualified path of the file.
        known: tail of the file.
        ordinal: index of its partition in the snapshot.
        columns: column ids in the file, by position in the table; columns that the file lacks are
            missing.
        parent: column id of the struct that contains the columns, 0 for the root.
        has_keys: whether the file is an ACID file.
        is_partial: whether its rows have to be filtered by ``currentTransaction``.
        original: row id parts for a file without stored row ids; None if rows have no row ids.
    """

    path: str
    known: KnownTail
    ordinal: int
    columns: tuple[int, ...]
    parent: int = 0
    has_keys: bool = False
    is_partial: bool = False
    original: OriginalFile | None = None


def data_files(source: CachedFiles, snapshot: TableSnapshot) -> list[ArrowDataFile]:
    """Return the files of a snapshot that contain rows.

    Raises:
        FormatError: a file cannot be read as part of the table: NOT_AN_ACID_FILE, ACID_V1_EVENTS,
            INVALID_ORIGINAL_FILE_NAME, INVALID_ORC_TAIL, OPEN_STREAMING_FILE.
    """
    directories = insert_directories(snapshot)
    if snapshot.table.insert_only:
        return [f for d in directories for f in _plain_files(source, snapshot, d)]
    raw: list[DataDirectory] = []
    acid: list[DataDirectory] = []
    for directory in directories:
        listing = snapshot.listings.get(directory.path)
        (raw if is_raw(source, listing, directory.directory) else acid).append(directory)
    file_lists = in_parallel(lambda d: list(_acid_files(source, snapshot, d)), acid)
    has_originals = any(p.state.originals for p in snapshot.partitions)
    originals: Sequence[OriginalFile] = ()
    if raw or has_originals:
        originals = original_files(source, snapshot, raw, originals=True)
    return [*(f for files in file_lists for f in files), *(_original(source, f) for f in originals)]


def _acid_files(
    source: CachedFiles, snapshot: TableSnapshot, place: DataDirectory
) -> Iterator[ArrowDataFile]:
    listing = snapshot.listings.get(place.path)
    written = may_be_written(place.directory)
    lengths = complete_lengths(source.files, listing) if written else {}
    is_partial = needs_row_filter(place.directory, snapshot.write_ids)
    visible = visible_columns(snapshot, place.ordinal)
    for name in bucket_files(listing):
        length = lengths.get(name, listing.files[name].size)
        if not length:
            continue
        path = child(place.path, name)
        known = source.known.get(path, listing.files[name], length)
        row_names(known.tail, path)
        check_events(path, known.tail)
        row = known.tail.types[0].subtypes[-1]
        if known.tail.rows:
            yield ArrowDataFile(
                path=path,
                known=known,
                ordinal=place.ordinal,
                columns=known.tail.types[row].subtypes[:visible],
                parent=row,
                has_keys=True,
                is_partial=is_partial,
            )


def _original(source: CachedFiles, file: OriginalFile) -> ArrowDataFile:
    known = _whole(source, file.listing, file.name)
    return ArrowDataFile(
        path=child(file.listing.path, file.name),
        known=known,
        ordinal=file.ordinal,
        columns=known.tail.types[0].subtypes[: len(file.columns)],
        original=file,
    )


def _plain_files(
    source: CachedFiles, snapshot: TableSnapshot, place: DataDirectory
) -> Iterator[ArrowDataFile]:
    """Yield the files of a directory of an insert-only table, including its subdirectories."""
    visible = visible_columns(snapshot, place.ordinal)
    for path in with_nested_originals(source.files, snapshot.listings, place.path):
        above, _, name = child(place.path, path).rpartition("/")
        listing = snapshot.listings.get(above)
        if any(map(is_hidden, path.split("/"))) or not listing.files[name].size:
            continue
        known = _whole(source, listing, name)
        if known.tail.rows:
            yield ArrowDataFile(
                path=child(above, name),
                known=known,
                ordinal=place.ordinal,
                columns=known.tail.types[0].subtypes[:visible],
            )


def _whole(source: CachedFiles, listing: Listing, name: str) -> KnownTail:
    version: FileVersion = listing.files[name]
    return source.known.get(child(listing.path, name), version, version.size)
