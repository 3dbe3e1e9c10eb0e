"""Backup and restoration of the file of an embedded metastore.

A backup contains only this file, not the directories of the tables. After a restoration, the
directories show which writes are newer than the backup. The write id of a directory can be missing
in the backup, or can belong to a transaction that was open. The backup then does not show whether
the transaction committed or was aborted.
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
    """Directory for which a backup does not show whether its transaction committed.

    Attributes:
        table: table of the directory.
        place: local path of the table's or partition's directory.
        directory: parsed name of the directory.
        is_open: whether its transaction was open in the backup.
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
    """Copy a consistent state of a metastore's file; other processes may write to it meanwhile.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE or METASTORE_VERSION, the file is not a metastore.
        AcidAnalysisError: PATH_ALREADY_EXISTS, the path of the copy exists.
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
    """Replace a metastore's file by a backup.

    Transactions that were open in the backup are committed or aborted.

    Args:
        copy: the backup.
        file: the metastore's file.
        accept: whether directories of unknown outcome count as committed.

    Returns:
        The directories of unknown outcome.

    Raises:
        MetastoreError: METASTORE_BUSY, a process has the file open; UNKNOWN_DIRECTORIES, there are
            directories of unknown outcome, and ``accept`` is false; METASTORE_UNAVAILABLE or
            METASTORE_VERSION, the backup is not a metastore's file.
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
    """Raise the counters above the ids of the directories, and end the open transactions."""
    accepted = list(accepted)
    for one in accepted:
        table, directory = one.table, one.directory
        store.seed_write_id(table.database, table.name, directory.max_write_id + 1)
        store.seed_txn_id(directory.visibility_txn_id + 1)
    for txn_id in _open(store):
        if any(_may_hold(accepted, *written) for written in store.write_ids_of(txn_id).items()):
            with suppress(WriteConflictError):  # a conflict shows that it did not commit
                store.commit_txn(txn_id)
        else:
            store.abort_txns([txn_id])


def _may_hold(directories: Iterable[UnknownDirectory], table: str, write_id: int) -> bool:
    """Return whether directories may contain rows of a write id.

    The rows can be in the delta of the write, or in a later compacted directory.
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
            for directory in filter(None, map(parse_directory, _names(place))):
                is_open = (table.full_name, directory.max_write_id) in running
                is_newer = (
                    directory.max_write_id >= following
                    or directory.visibility_txn_id > highest_txn_id
                )
                if is_open or is_newer:
                    yield UnknownDirectory(
                        table=table, place=place, directory=directory, is_open=is_open
                    )


def _tables(store: EmbeddedMetastore) -> Iterator[Table]:
    for database in store.databases():
        for name in store.tables(database):
            table = store.table(database, name)
            if table.table_type is TableType.MANAGED:
                yield table


def _places(store: EmbeddedMetastore, table: Table) -> Iterator[Path]:
    """Yield the directories of a table or its partitions that are on this machine.

    For other directories, acidsql compares the ids when it first lists them or writes to them.
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
    """Copy a metastore's file in one transaction, to one file without SQLite's log."""
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
    """Open a metastore's file, which may be missing, and exclude all other processes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file, timeout=0, isolation_level=None)) as connection:
        try:
            connection.execute("PRAGMA locking_mode = EXCLUSIVE")
            # SQLite can leave WAL mode only if no other connection is open.
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
    """Yield the path of a temporary file next to another file, and delete it at the end."""
    partial = file.with_name(f"{file.name}.{os.getpid()}.partial")
    try:
        yield partial
    finally:
        for suffix in ("", "-wal", "-shm", "-journal"):
            partial.with_name(partial.name + suffix).unlink(missing_ok=True)
