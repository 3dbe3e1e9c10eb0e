"""Worlds of the campaign ``kills``: a metastore's file, its tables and files to load.

One is made by Spark; each shot gets a copy. What a shot leaves is read without Spark.
"""

from __future__ import annotations

import io
import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
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
from tests.faults.kill_model import LANDED, LOADED, WORLD, State, TableState, texts
from tests.faults.kill_steps import LOCAL
from tests.metastore.local_files import LocalFiles
from tests.product.independent_reader import read_rows

PLACES = ("databases.location", "tables.location", "partitions.location")
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

    @property
    def files(self) -> LocalFiles:
        """File system of the tables, without Spark."""
        return LocalFiles()

    def location(self, name: str) -> str:
        """Return where a directory of the world is, for statements."""
        return str(self.root / name)

    def land_file(self, name: str, content: bytes) -> None:
        """Make a file to load."""
        self.land.mkdir(parents=True, exist_ok=True)
        (self.land / name).write_bytes(content)

    def delete(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.root)

    def copy(self, root: Path) -> World:
        """Copy a world that is not in use."""
        made = World(root)
        shutil.copytree(self.root, root)
        with closing(sqlite3.connect(made.metastore)) as connection, connection:
            for place in PLACES:
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
            str(self.metastore), synchronous=False, files=SyncedFiles(self.files)
        )
        try:
            yield store
        finally:
            store.close()

    def state(self) -> State:
        """Read everything, as the next process finds it."""
        files = self.files
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
        """Return what is not needed any more, in the metastore and on the disk."""
        files = self.files
        found = []
        owned = {self.warehouse}
        kept: dict[Path, set[str]] = {}
        with self.opened() as store:
            found += [f"open {t}" for t in store.open_txns() if t.state is TxnState.OPEN]
            found += [f"lock {lock}" for lock in store.locks()]
            found += [f"queue has {c}" for c in store.compactions() if c.state in _UNDONE]
            with store.database.read() as connection:
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
        found += self.clients()
        found += [str(p.relative_to(self.root)) for p in self.land.rglob("*acidsql*")]
        return found

    def clients(self) -> list[str]:
        """Return the names of the files of clients."""
        return [path.name for path in self.root.glob(f"{self.metastore.name}-client-*")]


def _path(location: str) -> Path:
    return Path(location.removeprefix("file:"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where the tables of a campaign are: on the local disk.

    Attributes:
        family: of the faults.
        filesystem: whose record of steps is used.
        settings: of its JVMs.
        least_part: size from which on S3 copies parts of files; None for Amazon's.
    """

    family: str = "kills"
    filesystem: str = LOCAL
    settings: Mapping[str, str] = field(default_factory=dict)
    least_part: int | None = None

    def world(self, root: Path) -> World:
        """Return an empty world."""
        return World(root)


def fill(spark: SparkSession, world: World) -> None:
    """Make what each shot begins with, in an empty world."""
    world.root.mkdir(parents=True)
    for name, row in zip(LANDED, LOADED, strict=True):
        rows = pa.table({"id": pa.array([row[0]], pa.int32()), "v": [row[1]]})
        content = io.BytesIO()
        pa_orc.write_table(rows, content)
        world.land_file(name, content.getvalue())
    session = spark.newSession()
    session.conf.set("spark.acidsql.metastore", str(world.metastore))
    session.conf.set("spark.acidsql.synchronous", "off")
    for database in ("d", "w"):
        place = world.location(f"warehouse/{database}")
        acidsql.sql(session, f"CREATE DATABASE {database} LOCATION '{place}'")
    for statement in WORLD:
        acidsql.sql(session, statement)
    AcidSession.of(session).close()
