"""What a new table finds in its place: nothing, or an ACID table that becomes its own."""

from __future__ import annotations

from collections.abc import Iterator

from acidsql.errors import AcidAnalysisError
from acidsql.format.names import is_hidden, parse_directory
from acidsql.format.partitions import unescape
from acidsql.format.selection import max_write_id
from acidsql.metastore.protocol import Partition, Table, TableType
from acidsql.scan.plan import bucket_files
from acidsql.session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.tails import read_tail

_ROW = 6  # ORC column id of ``row``


def check_location(session: AcidSession, table: Table) -> None:
    """Refuse a location that is another table's, above it or below it.

    Two tables over one directory would give the same write ids, and a DROP of one would delete the
    other's rows.

    Raises:
        AcidAnalysisError: LOCATION_IN_USE.
    """
    place = f"{table.location}/"
    for database in session.metastore.databases():
        for name in session.metastore.tables(database):
            other = session.metastore.table(database, name)
            taken = f"{other.location}/"
            if other.table_type is TableType.MANAGED and (
                place.startswith(taken) or taken.startswith(place)
            ):
                raise AcidAnalysisError(
                    "LOCATION_IN_USE",
                    f"{table.location} belongs to {other.full_name}, which lies in "
                    f"{other.location}: choose another LOCATION, or drop that table first",
                )


def existing(session: AcidSession, table: Table) -> tuple[list[Partition], int, int]:
    """The partitions and the highest write id and compactor's transaction of an ACID table that
    lies there.

    Raises:
        AcidAnalysisError: its files have other columns (ADOPTED_SCHEMA_MISMATCH), or are no ACID
            files (UNSUPPORTED_ORIGINAL_FILES).
    """
    found: list[Partition] = []
    highest = highest_txn = 0
    for values, location in _places(session, table):
        names = session.files.names(location)
        directories = [d for d in map(parse_directory, names) if d]
        strangers = [n for n in names if not is_hidden(n) and not parse_directory(n)]
        if strangers:
            raise AcidAnalysisError(
                "UNSUPPORTED_ORIGINAL_FILES",
                f"{location} holds {strangers[0]}, which is no directory of an ACID table: choose "
                "an empty location or one with base and delta directories only",
            )
        if directories and values:
            found.append(Partition(values=values, location=location))
        for directory in directories:
            _check_files(session, table, child(location, directory.name))
        highest = max(highest, max_write_id(names))
        highest_txn = max([highest_txn, *(d.visibility_txn_id for d in directories)])
    return found, highest, highest_txn


def _places(session: AcidSession, table: Table) -> Iterator[tuple[tuple[str, ...], str]]:
    """The directories that may hold ACID directories: the location, or its partitions'."""
    places: list[tuple[tuple[str, ...], str]] = [((), table.location)]
    for column in table.partition_columns:
        deeper = []
        for values, location in places:
            for name in session.files.names(location):
                key, equals, value = name.partition("=")
                if equals and unescape(key).lower() == column.name.lower():
                    deeper.append(((*values, unescape(value)), child(location, name)))
                elif not is_hidden(name):
                    raise AcidAnalysisError(
                        "UNEXPECTED_PARTITION_DIRECTORY",
                        f"{child(location, name)} is no partition of column {column.name}: check "
                        "PARTITIONED BY and LOCATION",
                    )
        places = deeper
    yield from places


def _check_files(session: AcidSession, table: Table, path: str) -> None:
    """Compare the columns of a directory's first file with the table's; files of
    a directory share them.
    """
    for name in bucket_files(session.files.names(path))[:1]:
        tail = read_tail(session.files, child(path, name))
        present = [field.lower() for field, _ in tail.struct_fields(_ROW)]
        expected = [c.name.lower() for c in table.columns]
        if present != expected:
            raise AcidAnalysisError(
                "ADOPTED_SCHEMA_MISMATCH",
                f"{child(path, name)} has the columns {', '.join(present)}, the statement "
                f"{', '.join(expected)}: create the table with the columns of its files",
            )
