"""Metastore servers for faults, with sessions of their clients and what users see there."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import STAGING_PREFIX, parse_directory
from acidsql.metastore.model import TxnState
from acidsql.session.acid_session import AcidSession
from tests.faults.server_proxy import counted
from tests.faults.server_statements import KINDS, Kind
from tests.limits import set_limits
from tests.metastore.server.launcher import MetastoreServer, running
from tests.metastore.subjects import SERVER_SETTINGS

_GONE_SECONDS = 60
_POLL_SECONDS = 0.1
_OPEN = "\"TXN_STATE\" = 'o'"
# The server must not try a failed call ten times, two seconds apart.
SETTINGS = {**SERVER_SETTINGS, "metastore.hmshandler.retry.attempts": "1"}
# It forgets at once what it need not remember of transactions.
_FORGETFUL = {**SETTINGS, "metastore.acid.txn.cleaner.interval": "1s"}

Rows = list[tuple[object, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What users see of a database.

    Attributes:
        tables: columns, properties, rows and partitions of each table.
        source: names of the files that are there to be loaded.
    """

    tables: dict[str, tuple[object, ...]]
    source: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lesson:
    """What a kind of statement does if nothing goes wrong.

    Attributes:
        calls: names of its calls of the metastore, in their order.
        rows: its result.
        before: what users see before it.
        after: what users see then.
    """

    calls: tuple[str, ...]
    rows: Rows
    before: State
    after: State


@dataclass(slots=True, kw_only=True)
class Site:
    """Running server, and what is known of the statements there.

    Attributes:
        looker: session of a client that reaches the server directly.
    """

    spark: SparkSession
    looker: SparkSession
    server: MetastoreServer
    home: Path
    lessons: dict[str, Lesson] = field(default_factory=dict)
    databases: int = 0

    def new_database(self) -> tuple[str, Path]:
        """Return an unused name for a database, and for a directory of files to load."""
        self.databases += 1
        version = self.server.version.replace(".", "_")
        return f"db{version}_{self.databases}", self.home / f"load{version}_{self.databases}"

    def client(self, uri: str, database: str) -> SparkSession:
        """Return a session of a new client, in a database that exists."""
        made = _session(self.spark, uri)
        acidsql.sql(made, f"USE {database}")
        return made

    def prepare(self, kind: Kind) -> tuple[str, Path]:
        """Make the tables of a kind of statement in a new database; return it, and the directory of
        files to load.
        """
        database, files = self.new_database()
        rows(self.looker, f"CREATE DATABASE {database}")
        rows(self.looker, f"USE {database}")
        prepare(self.looker, kind, files)
        return database, files

    def lesson(self, name: str) -> Lesson:
        """Learn what a kind of statement does, by running it once."""
        if name not in self.lessons:
            kind = KINDS[name]
            database, files = self.prepare(kind)
            before = state(self.looker, kind, files)
            with counted(self.server.port) as proxy:
                client = self.client(proxy.uri, database)
                proxy.arm()
                result = rows(client, kind.statement.format(files=files))
                calls = tuple(proxy.calls)
                AcidSession.of(client).close()
            after = state(self.looker, kind, files)
            self.lessons[name] = Lesson(calls=calls, rows=result, before=before, after=after)
        return self.lessons[name]


def end_transactions(server: MetastoreServer) -> None:
    """Have the transactions time out of clients that are gone."""
    deadline = time.monotonic() + _GONE_SECONDS
    old = f'UPDATE "APP"."TXNS" SET "TXN_LAST_HEARTBEAT" = 1, "TXN_STARTED" = 1 WHERE {_OPEN}'
    while server.sql(f'SELECT "TXN_ID" FROM "APP"."TXNS" WHERE {_OPEN} AND "TXN_ID" > 0'):
        server.sql(old)
        assert time.monotonic() < deadline, server.said()
        time.sleep(_POLL_SECONDS)


@contextmanager
def served(version: str, home: Path, settings: Mapping[str, str]) -> Iterator[MetastoreServer]:
    """Start a server; yield it."""
    place = home / f"server-{version}"
    place.mkdir()
    with running(version, place, settings) as server:
        yield server


@contextmanager
def site_of(spark: SparkSession, version: str, home: Path) -> Iterator[Site]:
    """Start a server; yield it, with a session that reaches it."""
    with served(version, home, _FORGETFUL) as server:
        looker = _session(spark, server.uri)
        yield Site(spark=spark, looker=looker, server=server, home=home)
        AcidSession.of(looker).close()


def _session(spark: SparkSession, uri: str) -> SparkSession:
    made = spark.newSession()
    made.conf.set("spark.acidsql.metastore", uri)
    made.conf.set("spark.acidsql.lock.timeout", "60")
    return made


@contextmanager
def fault_session(home: Path) -> Iterator[SparkSession]:
    """Yield a Spark session of one thread; clients try again at once what failed."""
    session = (
        SparkSession.builder.master("local[1]")
        .appName("faults of servers")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", "1g")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.sql.warehouse.dir", str(home / "warehouse"))
        .config("spark.acidsql.synchronous", "off")
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={home}")
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("OFF")
    with pytest.MonkeyPatch.context() as patch:
        set_limits(patch, attempt_pause_seconds=0.1)
        yield session


def prepare(looker: SparkSession, kind: Kind, files: Path) -> None:
    """Make the tables of a kind of statement in the current database."""
    for statement in kind.setup:
        rows(looker, statement)
    if "{files}" in kind.statement:
        looker.sql("SELECT 5 AS id, 'e' AS v").coalesce(1).write.orc(str(files))
        for name in files.glob("*.orc"):
            name.rename(files / "load.orc")  # a name without a random part


def rows(session: SparkSession, statement: str) -> Rows:
    """Run a statement; its rows, sorted."""
    return sorted((tuple(row) for row in acidsql.sql(session, statement).collect()), key=str)


def state(looker: SparkSession, kind: Kind, files: Path) -> State:
    """Return what users see of the current database."""
    metastore, database = AcidSession.of(looker).metastore, looker.catalog.currentDatabase()
    found: dict[str, tuple[object, ...]] = {}
    for name in metastore.tables(database):
        table = metastore.table(database, name)
        partitions = metastore.partition_values(database, name) if kind.changes_partitions else ()
        columns = tuple(replace(column, comment=None) for column in table.columns)
        mine = table.properties.get("mine")
        found[name] = columns, mine, rows(looker, f"SELECT * FROM {name}"), partitions
    return State(tables=found, source=tuple(sorted(p.name for p in files.glob("*.orc"))))


def directories(looker: SparkSession) -> tuple[set[str], set[str]]:
    """Return the ACID directories of the current database, and those of statements at work."""
    place = AcidSession.of(looker).metastore.database_location(looker.catalog.currentDatabase())
    root = Path(place.removeprefix("file:"))
    found = [(p.name, str(p.relative_to(root))) for p in root.rglob("*") if p.is_dir()]
    acid = {path for name, path in found if parse_directory(name)}
    return acid, {path for name, path in found if name.startswith(STAGING_PREFIX)}


def leftovers(looker: SparkSession) -> tuple[list[int], list[object]]:
    """Return the open transactions, and the locks, when only this session is there."""
    session = AcidSession.of(looker)
    session.leases.release()
    still = [t.txn_id for t in session.metastore.open_txns() if t.state is TxnState.OPEN]
    return still, list(session.metastore.locks())
