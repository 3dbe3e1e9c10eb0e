"""Worlds of the campaign ``kills``: a metastore's file, its tables and files to load.

One is made by Spark; each shot gets a copy. What a shot leaves is read without Spark.
"""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.orc as pa_orc
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import OWNER_FILE
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.model import CompactionState, Partition, TxnState
from acidsql.scan.snapshot import take_snapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.listings import Listings
from acidsql.storage.sync import SyncedFiles
from tests.faults.kill_cases import LANDED, LOADED, WORLD, State, TableState, texts
from tests.metastore.local_files import LocalFiles
from tests.product.independent_reader import read_rows

_PLACES = ("databases.location", "tables.location", "partitions.location")
# Entries of the queue that somebody still has to work on.
_UNDONE = (CompactionState.INITIATED, CompactionState.WORKING, CompactionState.READY_FOR_CLEANING)


@dataclass(frozen=True, slots=True)
class World:
    """Directory with everything that a shot uses."""

    root: Path

    @property
    def metastore(self) -> Path:
        """SQLite file."""
        return self.root / "metastore.sqlite"

    @property
    def warehouse(self) -> Path:
        """Directory of the databases."""
        return self.root / "warehouse"

    @property
    def land(self) -> Path:
        """Directory of the files to load."""
        return self.root / "land"

    def copy(self, root: Path) -> World:
        """Copy a world that nobody uses."""
        made = World(root)
        shutil.copytree(self.root, root)
        with closing(sqlite3.connect(made.metastore)) as connection, connection:
            for place in _PLACES:
                table, _, column = place.partition(".")
                connection.execute(
                    f"UPDATE {table} SET {column} = replace({column}, ?, ?)",
                    (f"{self.root}/", f"{root}/"),
                )
        return made

    @contextmanager
    def opened(self) -> Iterator[EmbeddedMetastore]:
        """Open the metastore as another process does."""
        store = EmbeddedMetastore(
            str(self.metastore), synchronous=False, files=SyncedFiles(LocalFiles())
        )
        try:
            yield store
        finally:
            store.close()

    def state(self) -> State:
        """Read everything, as the next process finds it."""
        files = LocalFiles()
        tables = {}
        with self.opened() as store:
            databases = store.databases()
            for database in databases:
                for name in store.tables(database):
                    table = store.table(database, name)
                    names = [
                        table.partition_name(v) for v in store.partition_values(database, name)
                    ]
                    tables[table.full_name] = TableState(
                        columns=tuple(c.name for c in (*table.columns, *table.partition_columns)),
                        rows=texts(read_rows(files, store, table)),
                        partitions=tuple(sorted(names)) if table.partition_columns else (),
                        note=table.properties.get("note"),
                    )
        return State(
            databases=tuple(sorted(databases)),
            tables=dict(sorted(tables.items())),
            landed=tuple(sorted(path.name for path in self.land.iterdir())),
        )

    def left(self) -> list[str]:
        """Return what nobody needs any more, in the metastore and on the disk."""
        files = LocalFiles()
        found = []
        owned = {self.warehouse}
        kept: dict[Path, set[str]] = {}
        with self.opened() as store:
            found += [f"open {t}" for t in store.open_txns() if t.state is TxnState.OPEN]
            found += [f"lock {lock}" for lock in store.locks()]
            found += [f"queue has {c}" for c in store.compactions() if c.state in _UNDONE]
            with store._database.read() as connection:
                rows = connection.execute("SELECT operation FROM file_operations")
                found += [f"journal has {operation}" for (operation,) in rows]
            for database in store.databases():
                if database != "default":
                    owned.add(_path(store.database_location(database)))
                for name in store.tables(database):
                    table = store.table(database, name)
                    owned.add(_path(table.location))
                    parts = store.partitions(database, name) if table.partition_columns else ()
                    snapshot = take_snapshot(
                        files, store, table, store.valid_txns(), Listings(files, None)
                    )
                    for partition in parts or (Partition(values=(), location=table.location),):
                        place = _path(partition.location)
                        owned.add(place)
                        owned.update(p for p in place.parents if _path(table.location) in p.parents)
                    for seen in snapshot.partitions:
                        names = {d.name for d in seen.state.directories}
                        kept[_path(seen.location)] = names
        for place in sorted(self.warehouse.rglob("*")):
            above = {place, *place.parents}
            if any(place.parent == p and place.name in names for p, names in kept.items()):
                continue
            if any(p / name in above for p, names in kept.items() for name in names):
                continue
            if place not in owned and not (place.name == OWNER_FILE and place.parent in owned):
                found.append(str(place.relative_to(self.root)))
        clients = self.root.glob(f"{self.metastore.name}-client-*")
        found += [str(path.relative_to(self.root)) for path in clients]
        found += [str(p.relative_to(self.root)) for p in self.land.rglob("*acidsql*")]
        return found


def _path(location: str) -> Path:
    return Path(location.removeprefix("file:"))


def make_world(spark: SparkSession, root: Path) -> World:
    """Make the world in which each shot begins."""
    world = World(root)
    world.land.mkdir(parents=True)
    for name, row in zip(LANDED, LOADED, strict=True):
        rows = pa.table({"id": pa.array([row[0]], pa.int32()), "v": [row[1]]})
        pa_orc.write_table(rows, world.land / name)
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(world.metastore))
    session.conf.set("spark.acidsql.synchronous", "off")
    for database in ("d", "w"):
        place = world.warehouse / database
        acidsql.sql(session, f"CREATE DATABASE {database} LOCATION '{place}'")
    for statement in WORLD:
        acidsql.sql(session, statement)
    AcidSession.of(session).close()
    return world
