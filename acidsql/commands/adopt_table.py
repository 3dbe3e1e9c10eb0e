"""Adoption of an existing ACID table in the directory of a new table."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from acidsql.commands.file_timestamps import differing_timestamps
from acidsql.errors import AcidAnalysisError, FormatError
from acidsql.format.identifiers import lowered
from acidsql.format.names import (
    AcidDirectory,
    DirectoryKind,
    is_hidden,
    is_original_file,
    parse_directory,
)
from acidsql.format.orc_tail import OrcTail
from acidsql.format.partitions import unescape
from acidsql.format.paths import parent
from acidsql.format.selection import max_write_id
from acidsql.format.timestamp_types import INSTANT
from acidsql.metastore import failures
from acidsql.metastore.model import RESERVED_WRITE_IDS, Partition, Table
from acidsql.scan.directories import file_tails, row_names
from acidsql.scan.snapshot import with_nested_originals
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.tails import read_tail

# Hive 1 and 2 gave names of this form to all columns of a file.
POSITIONAL_NAME = re.compile(r"_col[0-9]+")


def check_location(session: AcidSession, table: Table) -> None:
    """Refuse a location that equals, contains or is inside another table's location.

    Two tables over one directory would assign the same write ids, and DROP of one table would
    delete the rows of the other.

    Raises:
        AcidAnalysisError: LOCATION_IN_USE; INVALID_LOCATION, the location is the root of a file
            system.
    """
    if parent(table.location) == table.location:
        raise failures.invalid_location(table.location, "it is the root")
    other = session.metastore.table_at(table.location, table.database)
    if other is not None:
        raise failures.location_in_use(table.location, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedFiles:
    """ACID table that was found in a directory.

    Attributes:
        partitions: its partitions; none for a table without partition columns.
        highest_write_id: highest write id in the name of a directory, or of the rows of original
            files; 0 without directories and original files.
        highest_txn_id: highest transaction id in the name of a compacted directory, or 0.
        codec: codec of the newest file with rows; None if there is none.
    """

    partitions: tuple[Partition, ...]
    highest_write_id: int
    highest_txn_id: int
    codec: str | None


def existing(
    session: AcidSession,
    table: Table,
    known: Container[tuple[str, ...]] = frozenset(),
    places: Iterable[tuple[tuple[str, ...], str]] | None = None,
) -> AdoptedFiles:
    """Find an existing ACID table in the directory of a new table.

    Args:
        session: the session.
        table: the table.
        known: values of partitions to leave out.
        places: values and locations of the partitions; None to search the table's directory.

    Raises:
        AcidAnalysisError: the newest file has other columns (ADOPTED_SCHEMA_MISMATCH), or a
            directory is not a partition (UNEXPECTED_PARTITION_DIRECTORY).
        FormatError: a file has no row ids, and its name does not contain its bucket
            (INVALID_ORIGINAL_FILE_NAME).
    """
    partitions: list[Partition] = []
    directories: list[tuple[AcidDirectory, str]] = []
    originals: list[str] = []
    listings = Listings(session.files, None)
    for values, location in _places(session, table) if places is None else places:
        if values in known:
            continue
        names = with_nested_originals(session.files, listings, location)
        acid_directories = [(d, child(location, d.name)) for d in map(parse_directory, names) if d]
        others = [n for n in names if not parse_directory(n) and not _is_hidden_path(n)]
        _check_originals(table, location, others)
        if values and (acid_directories or others):
            partitions.append(Partition(values=values, location=location))
        directories += acid_directories
        originals += [child(location, n) for n in others]
    newest = None if table.insert_only else _newest_file(session, directories, originals)
    if newest is not None:
        _compare(session, table, newest)
    highest = max_write_id(directory.name for directory, _ in directories)
    return AdoptedFiles(
        partitions=tuple(partitions),
        highest_write_id=max(highest, RESERVED_WRITE_IDS if originals else 0),
        highest_txn_id=max((d.visibility_txn_id for d, _ in directories), default=0),
        codec=newest.tail.compression if newest else None,
    )


def _is_hidden_path(path: str) -> bool:
    return any(map(is_hidden, path.split("/")))


def _check_originals(table: Table, location: str, paths: Sequence[str]) -> None:
    """Refuse files whose names are not names of original files."""
    for path in paths:
        if table.insert_only or not is_original_file(path.rpartition("/")[2]):
            raise FormatError(
                "INVALID_ORIGINAL_FILE_NAME",
                f"{child(location, path)} lies in no base or delta directory, and is not named "
                "like a file from before the table became transactional: rename it like them "
                "(000000_0, 000000_0_copy_1), or move it out of the table",
            )


def _places(session: AcidSession, table: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield the values and location of each partition, or ``()`` and the table's location."""
    places: list[tuple[tuple[str, ...], str]] = [((), table.location)]
    for column in table.partition_columns:
        deeper = []
        for values, location in places:
            for name in session.files.names(location):
                key, equals, value = name.partition("=")
                if equals and lowered(unescape(key)) == column.stored_name:
                    deeper.append(((*values, unescape(value)), child(location, name)))
                elif not is_hidden(name):
                    raise AcidAnalysisError(
                        "UNEXPECTED_PARTITION_DIRECTORY",
                        f"{child(location, name)} is no partition of column {column.name}: check "
                        "PARTITIONED BY and LOCATION",
                    )
        places = deeper
    yield from places


class _NewestFile(NamedTuple):
    """File with the newest rows.

    Attributes:
        path: path of the file.
        columns: names of the table's columns in the file; () if the file has only positional names.
        tail: tail of the file.
        struct: id of the struct type in the file whose fields are the columns.
    """

    path: str
    columns: Sequence[str]
    tail: OrcTail
    struct: int = 0


def _newest_file(
    session: AcidSession,
    directories: Sequence[tuple[AcidDirectory, str]],
    originals: Sequence[str],
) -> _NewestFile | None:
    """Return a file with the newest rows, or None if there are no rows."""
    newest = sorted(directories, key=lambda placed: placed[0].max_write_id, reverse=True)
    for directory, path in newest:
        if directory.kind is DirectoryKind.DELETE_DELTA:
            continue
        for name, tail in file_tails(session, session.files.list(path)):
            file = child(path, name)
            return _NewestFile(file, row_names(tail, file), tail, tail.types[0].subtypes[-1])
    for file in originals:
        if session.files.size(file):
            tail = read_tail(session.files, file)
            names = [name for name, _ in tail.struct_fields()]
            named = not all(map(POSITIONAL_NAME.fullmatch, names))
            return _NewestFile(file, names if named else (), tail)
    return None


def _compare(session: AcidSession, table: Table, newest: _NewestFile) -> None:
    """Compare the names of the newest file's columns, and its timestamps, with the table's.

    Older files can contain earlier names of renamed columns. Any file can lack the columns that
    were added last.
    """
    present = list(map(lowered, newest.columns))
    expected = [c.stored_name for c in table.columns]
    if present != expected[: len(present)]:
        raise AcidAnalysisError(
            "ADOPTED_SCHEMA_MISMATCH",
            f"{newest.path} has the columns {', '.join(present)}, the statement "
            f"{', '.join(expected)}: create the table with the columns of its newest files",
        )
    differing = differing_timestamps(session.spark, table, newest.tail, newest.struct)
    if differing:
        held, named = (
            ("local times", "TIMESTAMP or TIMESTAMP_NTZ")
            if INSTANT in differing
            else ("instants", "TIMESTAMP_LTZ")
        )
        raise AcidAnalysisError(
            "ADOPTED_SCHEMA_MISMATCH",
            f"{newest.path} has {held}, which a column {', '.join(sorted(differing)).upper()} does "
            f"not mean: create the table with {named}",
        )
