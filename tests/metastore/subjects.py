"""Metastores that the behaviour suite tests, each with a clock that the test moves."""

from __future__ import annotations

import itertools
import shutil
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import pytest

from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.model import Column, Table, TxnState
from acidsql.metastore.protocol import Metastore
from tests.metastore.local_files import LocalFiles
from tests.metastore.server.launcher import MetastoreServer

TIMEOUT = 300.0
START = 1_700_000_000.0
# Every second servers look for transactions that timed out. They keep aborted ones that wrote
# nothing, which they would forget. Only the tests work on compactions.
SERVER_SETTINGS = {
    "metastore.acid.housekeeper.interval": "1s",
    "metastore.acid.txn.cleaner.interval": "1d",
    "metastore.timedout.txn.reaper.start": "0s",
    "metastore.timedout.txn.reaper.interval": "1s",
    "metastore.compactor.initiator.on": "false",
    "metastore.compactor.cleaner.on": "false",
}
# Where a server does not do what a test is about, or another client of it does.
EMBEDDED = ("embedded",)
WITH_WORKERS = ("embedded", "4.1.0", "4.0.1")
_REAPING_SECONDS = 30.0
_POLL_SECONDS = 0.1
# What a server keeps of an empty metastore.
_KEPT = frozenset(
    {"AUX_TABLE", "CTLGS", "GLOBAL_PRIVS", "NEXT_COMPACTION_QUEUE_ID", "NEXT_LOCK_ID",
     "NEXT_TXN_ID", "NOTIFICATION_SEQUENCE", "ROLES", "SEQUENCE_TABLE", "TXN_LOCK_TBL", "VERSION"}
)  # fmt: skip
_TIMES = (
    ("TXNS", "TXN_STARTED"),
    ("TXNS", "TXN_LAST_HEARTBEAT"),
    ("HIVE_LOCKS", "HL_ACQUIRED_AT"),
    ("COMPACTION_QUEUE", "CQ_START"),
    ("COMPACTION_QUEUE", "CQ_ENQUEUE_TIME"),
    ("COMPLETED_COMPACTIONS", "CC_START"),
    ("COMPLETED_COMPACTIONS", "CC_END"),
    ("COMPLETED_COMPACTIONS", "CC_ENQUEUE_TIME"),
)

# A definition of a table without its place.
EMPLOYEE = Table(
    database="default",
    name="employee",
    columns=(
        Column(name="id", type="bigint", nullable=False, comment="the key"),
        Column(name="größe", type="decimal(5,2)", default="1.80"),
        Column(name="address", type="struct<Street:string,no:int>"),
    ),
    partition_columns=(Column(name="land", type="string"), Column(name="year", type="int")),
    properties={"transactional": "true", "Ключ": "Wert \N{GRINNING FACE}"},
    owner="Ann",
    created=1_700_000_000,
)


class Subject(Protocol):
    """Metastore under test.

    Attributes:
        kind: ``embedded``, or the version of Hive.
        store: an empty metastore with a time-out of 300 s.
        warehouse: URI below which tables may lie.
    """

    kind: str
    store: Metastore
    warehouse: str

    def advance(self, seconds: float) -> None:
        """Let seconds pass."""

    def at(self, seconds: float) -> Any:
        """Convert seconds since the beginning of the test to seconds since 1970."""

    def reap(self) -> tuple[int, ...]:
        """Have transactions aborted that timed out; those that it met now."""


class FakeClock:
    """Seconds since 1970 that pass only by a call."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class EmbeddedSubject:
    """Metastore in one SQLite file."""

    kind = "embedded"

    def __init__(self, path: Path) -> None:
        self.clock = FakeClock()
        self.warehouse = f"file:{path.parent / 'warehouse'}"
        self.store: Metastore = EmbeddedMetastore(
            str(path), txn_timeout=TIMEOUT, clock=self.clock, files=LocalFiles()
        )

    def advance(self, seconds: float) -> None:
        self.clock.advance(seconds)

    def at(self, seconds: float) -> Any:
        return int(START + seconds)

    def reap(self) -> tuple[int, ...]:
        return self.store.reap()


class HiveSubject:
    """Server of Hive; time passes by making everything older that it has recorded."""

    def __init__(self, server: MetastoreServer) -> None:
        self.server = server
        self.kind = server.version
        self.warehouse = f"file:{server.warehouse}"
        self.store: Metastore = connected(server)
        self._advanced = 0.0
        self._reaped: set[int] = set()
        self._times = self._present_times()

    def advance(self, seconds: float) -> None:
        self._advanced += seconds
        for table, column in self._times:
            past = f'"{column}" = "{column}" - {int(seconds * 1000)}'
            self.server.sql(f'UPDATE "APP"."{table}" SET {past} WHERE "{column}" > 0')

    def at(self, seconds: float) -> Any:
        return pytest.approx(time.time() - self._advanced + seconds, abs=20, rel=0)

    def reap(self) -> tuple[int, ...]:
        """Wait for a round of the server's reaper: until it has met one that is certainly late."""
        late = self.store.open_txn("reaper", "test")
        old = '"TXN_LAST_HEARTBEAT" = 1, "TXN_STARTED" = 1'
        self.server.sql(f'UPDATE "APP"."TXNS" SET {old} WHERE "TXN_ID" = {late}')
        deadline = time.monotonic() + _REAPING_SECONDS
        while late not in (aborted := self._aborted()):
            assert time.monotonic() < deadline, self.server.said()
            time.sleep(_POLL_SECONDS)
        self.server.sql(f'DELETE FROM "APP"."TXNS" WHERE "TXN_ID" = {late}')
        found = aborted - self._reaped - {late}
        self._reaped |= aborted
        return tuple(sorted(found))

    def _aborted(self) -> set[int]:
        return {t.txn_id for t in self.store.open_txns() if t.state is TxnState.ABORTED}

    def _present_times(self) -> list[tuple[str, str]]:
        columns = self.server.sql(
            "SELECT TABLENAME, COLUMNNAME FROM SYS.SYSCOLUMNS JOIN SYS.SYSTABLES"
            " ON REFERENCEID = TABLEID"
        )
        return [pair for pair in _TIMES if list(pair) in columns]


def kinds(*names: str) -> list[Any]:
    """Return parameters for ``subject``; those of servers are marked."""
    return [
        name if name == "embedded" else pytest.param(name, marks=pytest.mark.metastore)
        for name in names
    ]


def only(*names: str) -> pytest.MarkDecorator:
    """Mark a test, or a module, that is about some metastores and not the others."""
    return pytest.mark.parametrize("subject", kinds(*names), indirect=True)


def connected(server: MetastoreServer, user: str = "ann") -> HiveMetastore:
    """Return a client of a server."""
    connections = Connections(parse_uris(server.uri), user=user, timeout=60)
    return HiveMetastore(connections, user=user, files=LocalFiles())


def empty(server: MetastoreServer) -> None:
    """Forget everything in a server's database and warehouse, and count from 1 again."""
    for place in server.warehouse.iterdir():
        shutil.rmtree(place)
    tables = [
        row[0]
        for row in server.sql("SELECT TABLENAME FROM SYS.SYSTABLES WHERE TABLETYPE = 'T'")
        if row[0] not in _KEPT
    ]
    counts = " UNION ALL ".join(f'SELECT \'{t}\', COUNT(*) FROM "APP"."{t}"' for t in tables)
    used = {name.strip() for name, count in server.sql(counts) if count}  # padded to one width
    rest = {"DBS": "\"NAME\" <> 'default'", "TXNS": '"TXN_ID" > 0'}
    for attempt in itertools.count():
        # Foreign keys: what is referred to goes when nothing refers to it any more.
        failed = {t for t in used if not _deleted(server, t, rest.get(t, "1 = 1"))}
        if not failed:
            break
        assert attempt < len(tables), failed
        used = failed
    if server.version.startswith("3."):
        server.sql('UPDATE "APP"."NEXT_TXN_ID" SET "NTXN_NEXT" = 1')
    else:
        server.sql('ALTER TABLE "APP"."TXNS" ALTER COLUMN "TXN_ID" RESTART WITH 1')


def _deleted(server: MetastoreServer, table: str, where: str) -> bool:
    try:
        server.sql(f'DELETE FROM "APP"."{table}" WHERE {where}')
    except AssertionError:
        return False
    return True


@contextmanager
def embedded_subject(path: Path) -> Iterator[Subject]:
    """Yield an embedded metastore."""
    subject = EmbeddedSubject(path)
    yield subject
    subject.store.close()


@contextmanager
def hive_subject(server: MetastoreServer) -> Iterator[Subject]:
    """Yield a client of a server, which is emptied first."""
    empty(server)
    subject = HiveSubject(server)
    yield subject
    subject.store.close()


def stored_rows(path: str, table: str) -> int:
    """Return the number of rows of a table in the file of an embedded metastore."""
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])
    finally:
        connection.close()
