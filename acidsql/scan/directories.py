"""What lies in the directories of a snapshot: ACID files, and under which names their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import VERSION
from acidsql.format.names import (
    AcidDirectory,
    DirectoryKind,
    is_original_file,
    parse_bucket_file,
)
from acidsql.format.orc_tail import OrcTail, OrcType
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileVersion, Listing, child
from acidsql.storage.parallel import in_parallel
from acidsql.storage.tails import OPERATION

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
    """A directory to scan, with the ordinal of its partition in the snapshot."""

    directory: AcidDirectory
    path: str
    ordinal: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FileColumns:
    """The table's columns in the files of some directories.

    Attributes:
        names: by position; those that are missing were added later.
        comparable: positions of columns of which ORC may compare the values.
    """

    names: tuple[str, ...]
    comparable: frozenset[int]


def insert_directories(snapshot: TableSnapshot) -> list[DataDirectory]:
    """The bases and insert deltas of a snapshot."""
    return [
        DataDirectory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in [*([p.state.base] if p.state.base else []), *p.state.insert_deltas]
    ]


def insert_deltas(snapshot: TableSnapshot) -> list[DataDirectory]:
    """The insert deltas of a snapshot."""
    return [d for d in insert_directories(snapshot) if d.directory.kind is DirectoryKind.DELTA]


def delete_deltas(snapshot: TableSnapshot) -> list[DataDirectory]:
    """The delete deltas of a snapshot."""
    return [
        DataDirectory(directory=d, path=p.path(d), ordinal=i)
        for i, p in enumerate(snapshot.partitions)
        for d in p.state.delete_deltas
    ]


def bucket_files(listing: Listing) -> list[str]:
    """The files that readers take from an ACID directory; all others are ignored, as by Hive."""
    return [name for name in listing.files if parse_bucket_file(name)]


def is_larger(snapshot: TableSnapshot, size: int) -> bool:
    """Whether the files with the rows of a snapshot have more bytes than ``size``."""
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
    """Whether a file has the columns of an ACID file (OrcInputFormat.isOriginal)."""
    return tuple(name.lower() for name, _ in tail.struct_fields()) == _ACID_COLUMNS


def row_names(tail: OrcTail, path: str) -> tuple[str, ...]:
    """The names of the fields of ``row`` in an ACID file.

    Raises:
        FormatError: it is no ACID file (NOT_AN_ACID_FILE).
    """
    if not is_acid_file(tail):
        present = ", ".join(name for name, _ in tail.struct_fields()) or "none"
        raise FormatError(
            "NOT_AN_ACID_FILE",
            f"{path} is named like a file of a transactional table but has the columns {present}: "
            "move it out of the table, or LOAD DATA it",
        )
    return tuple(name for name, _ in tail.struct_fields(tail.types[0].subtypes[-1]))


def is_raw(session: AcidSession, listing: Listing, directory: AcidDirectory) -> bool:
    """Whether a directory holds files without row ids, as LOAD DATA puts there
    (AcidUtils.isRawFormat).
    """
    if directory.min_write_id != directory.max_write_id or directory.visibility_txn_id:
        return False
    if any(map(parse_bucket_file, listing.names)):
        return False
    for name, version in sorted(listing.files.items()):
        if is_original_file(name) and version.size:
            return not is_acid_file(session.tails.tail(child(listing.path, name), version))
    return False


def file_tails(session: AcidSession, listing: Listing) -> Iterator[tuple[str, OrcTail]]:
    """The bucket files of an ACID directory by name, each with its tail.

    Files without a byte, which a writer that died may leave, have no rows (OrcInputFormat).
    """
    for name in bucket_files(listing):
        if listing.files[name].size:
            yield name, session.tails.tail(child(listing.path, name), listing.files[name])


class DeleteFile(NamedTuple):
    """A published delete file."""

    path: str
    version: FileVersion
    tail: OrcTail


def delete_files(session: AcidSession, listing: Listing) -> Iterator[DeleteFile]:
    """The delete files of a directory.

    Raises:
        FormatError: a file without a byte, whose events are lost (INVALID_ORC_TAIL).
    """
    for name in bucket_files(listing):
        path, version = child(listing.path, name), listing.files[name]
        yield DeleteFile(path, version, session.tails.tail(path, version))


def by_columns(
    session: AcidSession,
    snapshot: TableSnapshot,
    directories: Sequence[DataDirectory],
    compared: Mapping[int, OrcType],
) -> dict[FileColumns, list[DataDirectory]]:
    """Directories of rows by what the table's columns are in their files.

    Columns are matched by position, as Hive 4.1 does: a column that was renamed has its old name in
    old files, and one that was added is missing from their end. The files of a directory are
    written by one job and share their columns.

    Args:
        compared: the types in files of the columns that are to be compared by ORC, by position.

    Returns:
        Directories without files are left out.

    Raises:
        FormatError: a file holds updates of ACID v1 (ACID_V1_EVENTS), or is no ACID file
            (NOT_AN_ACID_FILE).
    """

    def columns(data: DataDirectory) -> FileColumns | None:
        listing = snapshot.listings.get(data.path)
        name, tail = next(file_tails(session, listing), (None, None))
        if name is None or tail is None:
            return None
        names = row_names(tail, child(data.path, name))
        _check_events(session, listing, name, tail)
        fields = tail.types[tail.types[0].subtypes[-1]].subtypes
        visible = visible_columns(snapshot, data.ordinal)
        same = {
            i
            for i, t in compared.items()
            if i < len(fields[:visible]) and tail.types[fields[i]] == t
        }
        return FileColumns(names=names[:visible], comparable=frozenset(same))

    groups: dict[FileColumns, list[DataDirectory]] = defaultdict(list)
    for data, found in zip(directories, in_parallel(columns, directories), strict=True):
        if found is not None:
            groups[found].append(data)
    return groups


def _check_events(session: AcidSession, listing: Listing, name: str, tail: OrcTail) -> None:
    """Refuse updates and deletes among the rows, as ACID v1 wrote them (Hive 1 and 2).

    Writers of ACID v2 say so in a file's metadata; without that every file is looked at.
    """
    tails = [(name, tail)] if VERSION in tail.metadata else file_tails(session, listing)
    for file, known in tails:
        operations = known.file_int_stats(OPERATION)
        if operations is not None and operations.maximum > 0:
            raise FormatError(
                "ACID_V1_EVENTS",
                f"{child(listing.path, file)} holds updates or deletes of ACID v1, which Hive 3 "
                "and 4 do not read either: run ALTER TABLE … COMPACT 'major' with the Hive that "
                "wrote it",
            )


def visible_columns(snapshot: TableSnapshot, ordinal: int) -> int:
    """How many of the table's columns a partition has: one may have fewer of its own."""
    partition: PartitionSnapshot = snapshot.partitions[ordinal]
    own = snapshot.table.columns if partition.columns is None else partition.columns
    return min(len(own), len(snapshot.table.columns))
