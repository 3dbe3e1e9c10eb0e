"""What lies in the directories of a snapshot: ACID files, and under which names their columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from acidsql.errors import FormatError
from acidsql.format.acid_metadata import VERSION
from acidsql.format.names import (
    AcidDirectory,
    DirectoryKind,
    is_original_file,
    parse_bucket_file,
)
from acidsql.format.orc_tail import OrcTail
from acidsql.scan.snapshot import PartitionSnapshot, TableSnapshot
from acidsql.session import AcidSession
from acidsql.storage.filesystem import Listing, child
from acidsql.storage.parallel import in_parallel

# Ending of the file in which a streaming client notes how far a file is complete.
_SIDE_FILE = "_flush_length"
_OPERATION = 1  # ORC column id
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


def bucket_files(names: Sequence[str]) -> list[str]:
    """The names that readers take from an ACID directory; all others are ignored, as by Hive."""
    return [name for name in names if parse_bucket_file(name)]


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
    row = dict(tail.struct_fields())[tail.types[0].field_names[-1]]
    return tuple(name for name, _ in tail.struct_fields(row))


def is_raw(session: AcidSession, listing: Listing, directory: AcidDirectory) -> bool:
    """Whether a directory holds files without row ids, as LOAD DATA puts there
    (AcidUtils.isRawFormat).
    """
    if directory.min_write_id != directory.max_write_id or directory.visibility_txn_id:
        return False
    if any(map(parse_bucket_file, listing.names)):
        return False
    name = next(filter(is_original_file, sorted(listing.names)), None)
    if name is None:
        return False
    version = session.files.version(listing, name)
    return not is_acid_file(session.tails.tail(child(listing.path, name), version))


def by_columns(
    session: AcidSession, snapshot: TableSnapshot, directories: Sequence[DataDirectory]
) -> dict[tuple[str, ...], list[DataDirectory]]:
    """Directories of rows by the names that the table's columns have in their files.

    Columns are matched by position, as Hive 4.1 does: a column that was renamed has its old name in
    old files, and one that was added is missing from their end. The files of a directory are
    written by one job and share their columns.

    Returns:
        For each list of names its directories; directories without files are left out.

    Raises:
        FormatError: a file is still written by a streaming client (OPEN_STREAMING_FILE), holds
            updates of ACID v1 (ACID_V1_EVENTS), or is no ACID file (NOT_AN_ACID_FILE).
    """

    def names(data: DataDirectory) -> tuple[str, ...] | None:
        listing = snapshot.listings.get(data.path)
        files = bucket_files(listing.names)
        if not files:
            return None
        _check_closed(session, listing)
        path = child(data.path, min(files))
        tail = session.tails.tail(path, session.files.version(listing, min(files)))
        names = row_names(tail, path)
        _check_events(session, listing, tail)
        return names[: visible_columns(snapshot, data.ordinal)]

    groups: dict[tuple[str, ...], list[DataDirectory]] = defaultdict(list)
    for data, found in zip(directories, in_parallel(names, directories), strict=True):
        if found is not None:
            groups[found].append(data)
    return groups


def _check_closed(session: AcidSession, listing: Listing) -> None:
    """Refuse a file that a streaming client still writes.

    The client notes beside it how far the file is complete (OrcAcidUtils.getSideFile), which
    Spark's reader cannot be told. A file that is complete to its end may be read.
    """
    for name in listing.names:
        file = name.removesuffix(_SIDE_FILE)
        if file == name or file not in listing.names:
            continue
        noted = session.files.read(child(listing.path, name))
        lengths = [noted[i : i + 8] for i in range(0, len(noted) - 7, 8)]
        complete = int.from_bytes(lengths[-1], "big") if lengths else None
        if complete != session.files.version(listing, file).size:
            raise FormatError(
                "OPEN_STREAMING_FILE",
                f"{child(listing.path, file)} is still written by a streaming client, and "
                f"complete up to byte {complete or 0}: read the table when the client has closed "
                "it, or compact it in Hive",
            )


def _check_events(session: AcidSession, listing: Listing, tail: OrcTail) -> None:
    """Refuse updates and deletes among the rows, as ACID v1 wrote them (Hive 1 and 2).

    Writers of ACID v2 say so in a file's metadata; without that every file is looked at.
    """
    tails = [(min(bucket_files(listing.names)), tail)]
    if VERSION not in tail.metadata:
        tails = [
            (n, session.tails.tail(child(listing.path, n), session.files.version(listing, n)))
            for n in bucket_files(listing.names)
        ]
    for name, known in tails:
        operations = known.file_int_stats(_OPERATION)
        if operations is not None and operations.maximum > 0:
            raise FormatError(
                "ACID_V1_EVENTS",
                f"{child(listing.path, name)} holds updates or deletes of ACID v1, which Hive 3 "
                "and 4 do not read either: run ALTER TABLE … COMPACT 'major' with the Hive that "
                "wrote it",
            )


def visible_columns(snapshot: TableSnapshot, ordinal: int) -> int:
    """How many of the table's columns a partition has: one may have fewer of its own."""
    partition: PartitionSnapshot = snapshot.partitions[ordinal]
    own = snapshot.table.columns if partition.columns is None else partition.columns
    return min(len(own), len(snapshot.table.columns))
