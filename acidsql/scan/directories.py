"""ACID files in the directories of a snapshot, and checks of these files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import VERSION
from acidsql.format.identifiers import lowered
from acidsql.format.names import (
    AcidDirectory,
    DirectoryKind,
    is_original_file,
    parse_bucket_file,
)
from acidsql.format.orc_tail import OrcTail
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.storage.directory import FileVersion, Listing, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import OPERATION, TailSource

# Top-level columns of ACID files; query-based compaction writes them in lower case.
_ACID_COLUMNS = (
    "operation",
    "originaltransaction",
    "bucket",
    "rowid",
    "currenttransaction",
    "row",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DataDirectory:
    """Directory to scan.

    Attributes:
        directory: parsed name.
        path: qualified path.
        ordinal: index of the partition in the snapshot.
    """

    directory: AcidDirectory
    path: str
    ordinal: int


def insert_directories(snapshot: TableSnapshot) -> list[DataDirectory]:
    """Return the bases and insert deltas of a snapshot."""
    return [
        DataDirectory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in [*([p.state.base] if p.state.base else []), *p.state.insert_deltas]
    ]


def insert_deltas(snapshot: TableSnapshot) -> list[DataDirectory]:
    """Return the insert deltas of a snapshot."""
    return [d for d in insert_directories(snapshot) if d.directory.kind is DirectoryKind.DELTA]


def delete_deltas(snapshot: TableSnapshot) -> list[DataDirectory]:
    """Return the delete deltas of a snapshot."""
    return [
        DataDirectory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in p.state.delete_deltas
    ]


def bucket_files(listing: Listing) -> list[str]:
    """Return the names of the bucket files in an ACID directory.

    As in Hive, readers ignore other files.
    """
    return [name for name in listing.files if parse_bucket_file(name)]


def is_larger(snapshot: TableSnapshot, size: int) -> bool:
    """Return whether the files with the rows of a snapshot have more than ``size`` bytes."""
    places = [d.path for d in insert_directories(snapshot)]
    for partition in snapshot.partitions:
        originals = {child(partition.location, name) for name in partition.state.originals}
        places += sorted({path.rpartition("/")[0] for path in originals})
    counted = 0
    for place in places:
        counted += sum(file.size for file in snapshot.listings.get(place).files.values())
        if counted > size:
            return True
    return False


def is_acid_file(tail: OrcTail) -> bool:
    """Return whether a file has the columns of an ACID file (``OrcInputFormat.isOriginal``)."""
    return tuple(lowered(name) for name, _ in tail.struct_fields()) == _ACID_COLUMNS


def row_names(tail: OrcTail, path: str) -> tuple[str, ...]:
    """Return the names of the fields of ``row`` in an ACID file.

    Raises:
        FormatError: the file is not an ACID file (NOT_AN_ACID_FILE).
    """
    if not is_acid_file(tail):
        present = ", ".join(name for name, _ in tail.struct_fields()) or "none"
        raise FormatError(
            "NOT_AN_ACID_FILE",
            f"{path} is named like a file of a transactional table but has the columns {present}: "
            "move it out of the table, or LOAD DATA it",
        )
    return tuple(name for name, _ in tail.struct_fields(tail.types[0].subtypes[-1]))


def is_raw(session: TailSource, listing: Listing, directory: AcidDirectory) -> bool:
    """Return whether a directory contains files without row ids, which LOAD DATA creates.

    Hive checks this in ``AcidUtils.isRawFormat``.
    """
    if directory.min_write_id != directory.max_write_id or directory.visibility_txn_id:
        return False
    if any(map(parse_bucket_file, listing.names)):
        return False
    for name, version in sorted(listing.files.items()):
        if is_original_file(name) and version.size:
            return not is_acid_file(session.tails.tail(child(listing.path, name), version))
    return False


def file_tails(session: TailSource, listing: Listing) -> Iterator[tuple[str, OrcTail]]:
    """Yield the bucket files of an ACID directory by name, each with its tail.

    A writer that died can leave empty files, which have no rows (``OrcInputFormat``).
    """
    for name in bucket_files(listing):
        if listing.files[name].size:
            yield name, session.tails.tail(child(listing.path, name), listing.files[name])


class DeleteFile(NamedTuple):
    """Published delete file.

    Attributes:
        path: qualified path.
        version: identifies the content of the file.
        tail: ORC tail.
    """

    path: str
    version: FileVersion
    tail: OrcTail


def delete_files(session: TailSource, listing: Listing) -> Iterator[DeleteFile]:
    """Yield the delete files of a directory.

    Raises:
        FormatError: a file is empty, so that its events are lost (INVALID_ORC_TAIL).
    """
    for name in bucket_files(listing):
        path, version = child(listing.path, name), listing.files[name]
        yield DeleteFile(path, version, session.tails.tail(path, version))


def check_files(
    session: TailSource, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> None:
    """Check that the files of directories are ACID files that contain rows.

    One job has written all files of a directory with the same columns, so only the first file is
    checked.

    Raises:
        FormatError: a file has updates of ACID v1 (ACID_V1_EVENTS), or is not an ACID file
            (NOT_AN_ACID_FILE).
    """

    def check(data: DataDirectory) -> None:
        listing = snapshot.listings.get(data.path)
        name, tail = next(file_tails(session, listing), (None, None))
        if name is not None and tail is not None:
            row_names(tail, child(data.path, name))
            _check_events(session, listing, name, tail)

    in_parallel(check, directories, mostly_cached=True)


def _check_events(session: TailSource, listing: Listing, name: str, tail: OrcTail) -> None:
    """Raise an error for update or delete events among the rows, which ACID v1 wrote (Hive 1, 2).

    Writers of ACID v2 put their version into the metadata of a file. If the version is missing,
    every file of the directory is checked.
    """
    tails = [(name, tail)] if VERSION in tail.metadata else file_tails(session, listing)
    for file, known in tails:
        check_events(child(listing.path, file), known)


def check_events(path: str, tail: OrcTail) -> None:
    """Raise an error for a file with update or delete events among the rows.

    Raises:
        FormatError: ACID_V1_EVENTS.
    """
    operations = tail.file_int_stats(OPERATION)
    if operations is not None and operations.maximum > 0:
        raise FormatError(
            "ACID_V1_EVENTS",
            f"{path} holds updates or deletes of ACID v1, which Hive 3 "
            "and 4 do not read either: run ALTER TABLE … COMPACT 'major' with the Hive that "
            "wrote it",
        )


def visible_columns(snapshot: TableSnapshot, ordinal: int) -> int:
    """Return the number of the table's columns that a partition has; a partition may lack some."""
    partition: PartitionSnapshot = snapshot.partitions[ordinal]
    columns = snapshot.table.columns if partition.columns is None else partition.columns
    return min(len(columns), len(snapshot.table.columns))
