"""Small tables in an embedded metastore, without Spark: their rows are lines of text files.

Transactions, compactions, the cleaner and the metastore are the product's. Only the files in the
directories of a table are not ORC, and a row is its own row id.
"""

from __future__ import annotations

import mmap
import os
import shutil
import sqlite3
import struct
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from unittest.mock import patch

from acidsql.format.names import OWNER_FILE, DirectoryKind, is_hidden
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.embedded.database import Database
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import Column, FileFormat, Table
from acidsql.metastore.protocol import Metastore
from acidsql.scan.snapshot import TableSnapshot, take_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import child
from acidsql.storage.listings import Listings
from acidsql.storage.sync import SyncedFiles
from tests.metastore.local_files import LocalFiles, session_without_spark

TIMEOUT = 300.0
COLUMNS = "columns"  # beside the properties of a table

Values = tuple[str, ...]
Rows = frozenset[str]
TableName = tuple[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """All that statements change, as the model has it and as a process finds it.

    Attributes:
        databases: their names.
        tables: rows of each partition of each table; a table without partitions has the values ().
        landed: content of each file that waits to be loaded.
        properties: the tables' properties, and ``columns`` where they are not only ``row``.
    """

    databases: frozenset[str]
    tables: Mapping[TableName, Mapping[Values, Rows]]
    landed: Mapping[str, str]
    properties: Mapping[TableName, Mapping[str, str]]

    def rows(self, name: TableName, values: Values = ()) -> Rows:
        """Return the rows of a partition, none if there is no such partition."""
        return self.tables[name].get(values, frozenset())

    def having(self, name: TableName, partitions: Mapping[Values, Rows] | None) -> State:
        """Return the state with other partitions of a table; None drops the table."""
        tables = {n: rows for n, rows in self.tables.items() if n != name}
        properties = {n: own for n, own in self.properties.items() if n != name}
        if partitions is not None:
            tables[name] = partitions
            properties[name] = self.properties.get(name, {})
        return replace(self, tables=tables, properties=properties)

    def changed(
        self,
        name: TableName,
        *,
        added: Mapping[Values, Iterable[str]] | None = None,
        deleted: Iterable[str] = (),
        replaced: Iterable[Values] = (),
    ) -> State:
        """Return the state after rows were deleted, whole partitions replaced, and rows added."""
        gone, emptied = set(deleted), set(replaced)
        rows = {
            values: frozenset() if values in emptied else own - gone
            for values, own in self.tables[name].items()
        }
        for values, new in (added or {}).items():
            rows[values] = rows.get(values, frozenset()) | set(new)
        return self.having(name, rows)


class SharedClock:
    """Clock of all processes that are forked from this one; it stands still unless it is set."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)
        self.set(1_000_000.0)

    def __call__(self) -> float:
        return float(struct.unpack("d", self._shared[:8])[0])

    def set(self, now: float) -> None:
        """Set the time."""
        self._shared[:8] = struct.pack("d", now)

    def pass_timeout(self) -> None:
        """Let so much time pass that all open transactions time out."""
        self.set(self() + 2 * TIMEOUT)


@dataclass(frozen=True, slots=True)
class World:
    """Directory with the metastore's file, the tables, and files to load.

    Attributes:
        root: the directory; its path is in the metastore's file.
    """

    root: Path
    clock: SharedClock

    def uri(self, *names: str) -> str:
        """Return the qualified path of something in the world."""
        return child(f"file:{self.root}", *names)

    @contextmanager
    def process(
        self, files: LocalFiles | None = None, lock_timeout: float = 0.0
    ) -> Iterator[AcidSession]:
        """Open the metastore as another process does, with what transactions need."""
        own = files or LocalFiles()
        metastore = EmbeddedMetastore(
            str(self.root / "metastore.sqlite"),
            txn_timeout=TIMEOUT,
            synchronous=False,
            clock=self.clock,
            files=SyncedFiles(own),
        )
        session = session_without_spark(metastore, own, lock_timeout)
        try:
            yield session
        finally:
            session.heartbeater.stop()
            metastore.close()

    def copy_from(self, template: Path) -> None:
        """Make the world as it is in a template. Data files are shared, and never written to."""
        shutil.rmtree(self.root, ignore_errors=True)
        for directory, _, names in os.walk(template):
            place = self.root / Path(directory).relative_to(template)
            place.mkdir(parents=True)
            for name in names:
                copy = shutil.copyfile if name.endswith(".sqlite") else os.link
                copy(Path(directory, name), place / name)

    def leftovers(self) -> list[str]:
        """Return what only transactions at work may leave: staging, holdings, journal, locks."""
        hidden = [
            f"{directory}/{name}"
            for directory, directories, files in os.walk(self.root)
            for name in (*directories, *files)
            if name.startswith("_acidsql") and name != OWNER_FILE
        ]
        with closing(sqlite3.connect(self.root / "metastore.sqlite")) as connection:
            for what, query in _UNFINISHED.items():
                hidden += [f"{what} {row}" for row in connection.execute(query)]
        return hidden


_UNFINISHED = {
    "journal": "SELECT operation FROM file_operations",
    "lock": "SELECT txn_id, type, state FROM locks",
    "transaction": "SELECT txn_id, type FROM txns WHERE state = 'open'",
    "staged table": "SELECT table_name FROM tables WHERE created_by_txn IS NOT NULL",
    "compaction": "SELECT * FROM compactions WHERE state = 'working'",
}


def definition(world: World, database: str, name: str, *, partitioned: bool = False) -> Table:
    """Return the definition of a table in its default place."""
    return Table(
        database=database,
        name=name,
        columns=(Column(name="row", type="string"),),
        partition_columns=(Column(name="p", type="string"),) if partitioned else (),
        location=world.uri(database, name),
        # Of another format less is asked; nothing here depends on it.
        file_format=FileFormat.TEXT,
    )


def found_state(world: World, session: AcidSession) -> State:
    """Read everything, as a process finds it.

    Raises:
        AssertionError: a row is there twice.
        AcidSqlError: something cannot be read.
        OSError: the same.
    """
    metastore = session.metastore
    # Does what is left of file operations; all that follows reads.
    databases = metastore.databases()
    with _one_transaction(metastore):
        return _read(world, session, databases)


@contextmanager
def _one_transaction(metastore: Metastore) -> Iterator[None]:
    """Let all that the metastore reads in the block be one transaction, which is faster."""
    assert isinstance(metastore, EmbeddedMetastore)
    with metastore.database.read() as connection:

        def read(_: Database) -> AbstractContextManager[sqlite3.Connection]:
            return nullcontext(connection)

        with patch.object(Database, "read", read):
            yield


def _read(world: World, session: AcidSession, databases: Iterable[str]) -> State:
    metastore = session.metastore
    tables, properties = {}, {}
    txns = metastore.valid_txns()
    for database in databases:
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            tables[database, name] = rows_of(session, table, txns)
            properties[database, name] = shown(table)
    # After the catalog: reading it does what is left of committed loads.
    landing = world.root / "landing"
    landed = {path.name: path.read_text() for path in landing.iterdir()}
    return State(
        databases=frozenset(databases),
        tables=tables,
        landed=landed,
        properties=properties,
    )


def shown(table: Table) -> dict[str, str]:
    """Return the properties of a table, and its columns if they are not only ``row``."""
    names = ", ".join(column.name for column in table.columns)
    return {**table.properties, **({} if names == "row" else {COLUMNS: names})}


def rows_of(
    session: AcidSession,
    table: Table,
    txns: ValidTxnList,
    seen: ValidWriteIdList | None = None,
) -> dict[Values, Rows]:
    """Read the rows of a table's partitions in a snapshot."""
    lists = None if seen is None else (seen, txns)
    snapshot = take_snapshot(
        session.files,
        session.metastore,
        table,
        txns,
        Listings(session.files, None),
        lists=lists,
    )
    return {
        partition.values: frozenset(rows - deleted)
        for partition, (rows, deleted) in zip(snapshot.partitions, merged(snapshot), strict=True)
    }


def merged(
    snapshot: TableSnapshot, *, with_base: bool = True
) -> Iterator[tuple[set[str], set[str]]]:
    """Yield for each partition the rows and the deleted rows in its directories."""
    for partition in snapshot.partitions:
        rows: set[str] = set()
        deleted: set[str] = set()
        state = partition.state
        for directory in state.directories if with_base else state.deltas:
            is_delete = directory.kind is DirectoryKind.DELETE_DELTA
            for row in _lines(partition.path(directory)):
                taken = deleted if is_delete else rows
                assert row not in taken, f"{row} is twice in {partition.location}"
                taken.add(row)
        yield rows, deleted


def _lines(directory: str) -> Iterator[str]:
    path = Path(directory.removeprefix("file:"))
    for file in sorted(path.iterdir()):
        if not is_hidden(file.name):
            yield from file.read_text().split()
