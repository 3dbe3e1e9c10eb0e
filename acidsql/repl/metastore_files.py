"""Backup and restoration of an embedded metastore's file.

Only the file is copied. The directories of the tables are what they are, so after a restoration
they decide what was written since. The copy may not know the write id of a directory, or know it as
that of an open transaction. That transaction may have committed, or been aborted.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from acidsql.errors import AcidAnalysisError, MetastoreError, WriteConflictError
from acidsql.format.names import AcidDirectory, DirectoryKind, parse_directory
from acidsql.limits import limits
from acidsql.metastore.embedded import schema
from acidsql.metastore.embedded.database import make_private
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Table, TableType, TxnState

_FILE = "file:"


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownDirectory:
    """Directory whose transaction may have committed or not: a copy does not say which.

    Attributes:
        table: its table.
        place: directory of the table or partition, as a local path.
        directory: its parsed name.
        is_open: whether the copy has its transaction as open.
    """

    table: Table
    place: Path
    directory: AcidDirectory
    is_open: bool

    @property
    def path(self) -> Path:
        """Path of the directory."""
        return self.place / self.directory.name


def back_up(file: Path, copy: Path) -> None:
    """Copy a metastore's file as it is at one moment; others may write to it meanwhile.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE or METASTORE_VERSION, it is no metastore's file.
        AcidAnalysisError: PATH_ALREADY_EXISTS, there is a file where the copy should be.
    """
    if copy.exists():
        raise AcidAnalysisError(
            "PATH_ALREADY_EXISTS",
            f"{copy} exists already: choose another place for the copy",
            {"outputPath": str(copy)},
        )
    with _partial(copy) as partial:
        _copy(file, partial)
        partial.rename(copy)


def restore(copy: Path, file: Path, *, accept: bool) -> list[UnknownDirectory]:
    """Put a copy in the place of a metastore's file.

    Transactions that were open in the copy are ended.

    Args:
        accept: whether to count directories of unknown outcome as committed.

    Returns:
        Those directories.

    Raises:
        MetastoreError: METASTORE_BUSY, a process has the file open; UNKNOWN_DIRECTORIES, there are
            such directories and they are not to be accepted; METASTORE_UNAVAILABLE or
            METASTORE_VERSION, the copy is no metastore's file.
    """
    with _partial(file) as partial, _alone(file) as target:
        _copy(copy, partial)
        with closing(EmbeddedMetastore(str(partial))) as store:
            unknown = list(_unknown_directories(store))
            if unknown and not accept:
                raise _not_accepted(copy, unknown)
            _settle(store, unknown)
        with closing(sqlite3.connect(partial)) as source:
            source.backup(target)
    return unknown


def _not_accepted(copy: Path, unknown: list[UnknownDirectory]) -> MetastoreError:
    listed = "\n".join(f"  {one.path}" for one in unknown)
    return MetastoreError(
        "UNKNOWN_DIRECTORIES",
        f"{copy} does not show whether these directories were committed:\n{listed}\nMove those "
        "away that were not, and use --accept to count the others as committed",
    )


def _settle(store: EmbeddedMetastore, accepted: Iterable[UnknownDirectory]) -> None:
    """Raise the counters above the directories, and end the transactions that are open."""
    accepted = list(accepted)
    for one in accepted:
        table, found = one.table, one.directory
        store.seed_write_id(table.database, table.name, found.max_write_id + 1)
        store.seed_txn_id(found.visibility_txn_id + 1)
    for txn_id in _open(store):
        if any(_may_hold(accepted, *written) for written in store.write_ids_of(txn_id).items()):
            with suppress(WriteConflictError):  # then it did not commit
                store.commit_txn(txn_id)
        else:
            store.abort_txns([txn_id])


def _may_hold(directories: Iterable[UnknownDirectory], table: str, write_id: int) -> bool:
    """Return whether rows of a write id may be in directories: in a delta of its own, or in what a
    compaction has merged since.
    """
    return any(
        one.table.full_name == table
        and write_id <= one.directory.max_write_id
        and (one.directory.kind is DirectoryKind.BASE or one.directory.min_write_id <= write_id)
        for one in directories
    )


def _unknown_directories(store: EmbeddedMetastore) -> Iterator[UnknownDirectory]:
    """Find the directories of unknown outcome in the local directories of all tables."""
    running = {pair for txn_id in _open(store) for pair in store.write_ids_of(txn_id).items()}
    highest_txn_id = store.valid_txns().high_water_mark
    for table in _tables(store):
        following = store.next_write_id(table.database, table.name)
        for place in _places(store, table):
            for found in filter(None, map(parse_directory, _names(place))):
                is_open = (table.full_name, found.max_write_id) in running
                is_newer = (
                    found.max_write_id >= following or found.visibility_txn_id > highest_txn_id
                )
                if is_open or is_newer:
                    yield UnknownDirectory(
                        table=table, place=place, directory=found, is_open=is_open
                    )


def _tables(store: EmbeddedMetastore) -> Iterator[Table]:
    for database in store.databases():
        for name in store.tables(database):
            table = store.table(database, name)
            if table.table_type is TableType.MANAGED:
                yield table


def _places(store: EmbeddedMetastore, table: Table) -> Iterator[Path]:
    """Yield the directories with a table's rows, of those on this machine.

    For others acidsql compares the ids when it first lists them or writes to them.
    """
    locations = [table.location]
    if table.partition_columns:
        locations = [p.location for p in store.partitions(table.database, table.name)]
    for location in locations:
        if location.startswith(_FILE):
            yield Path("/" + location.removeprefix(_FILE).lstrip("/"))


def _names(place: Path) -> list[str]:
    return sorted(path.name for path in place.iterdir()) if place.is_dir() else []


def _open(store: EmbeddedMetastore) -> list[int]:
    return [txn.txn_id for txn in store.open_txns() if txn.state is TxnState.OPEN]


def _copy(file: Path, target: Path) -> None:
    """Copy a metastore's file in one transaction, as one file without SQLite's log."""
    if not file.is_file():
        raise MetastoreError(
            "METASTORE_UNAVAILABLE", f"there is no file {file}: name the metastore's with its path"
        )
    make_private(target)
    try:
        with closing(_connect(file)) as source, closing(sqlite3.connect(target)) as made:
            schema.checked_version(source, str(file), may_be_empty=False)
            source.backup(made)
            made.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.Error as error:
        raise MetastoreError(
            "METASTORE_UNAVAILABLE",
            f"{file} could not be copied to {target}: {error}; check the file and the free space",
        ) from error


def _connect(file: Path) -> sqlite3.Connection:
    return sqlite3.connect(file, timeout=limits().sqlite_busy_seconds, isolation_level=None)


@contextmanager
def _alone(file: Path) -> Iterator[sqlite3.Connection]:
    """Open a metastore's file, which may be missing, and keep all other processes out of it."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # SQLite leaves WAL mode only if no other connection is open.
            connection.execute("PRAGMA journal_mode = DELETE")
            connection.execute("BEGIN EXCLUSIVE")
            schema.checked_version(connection, str(file), may_be_empty=True)
            connection.execute("COMMIT")  # the lock stays until the connection is closed
        except sqlite3.OperationalError as error:
            raise MetastoreError(
                "METASTORE_BUSY",
                f"a process has {file} open ({error}): end the sessions that use it",
            ) from error
        yield connection


@contextmanager
def _partial(file: Path) -> Iterator[Path]:
    """Yield the path of a file beside another one, which is deleted in the end."""
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    try:
        yield partial
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)
