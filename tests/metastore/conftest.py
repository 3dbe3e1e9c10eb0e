"""The metastores under test, each empty, with a clock that the test moves.

The behaviour suite knows only the protocol, and runs against every implementation that
``metastore`` gives: ``test_catalog``, ``test_transactions``, ``test_write_ids``, ``test_locks``,
``test_write_conflicts`` and ``test_compaction_queue``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.protocol import Column, Metastore, Table
from tests.java_tools import TOOLS, JavaSetupError
from tests.metastore.server import launcher
from tests.requirements import require_tools, unavailable

TIMEOUT = 300.0
START = 1_700_000_000.0


class FakeClock:
    """Seconds since 1970 that pass only when told to."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def advance(clock: FakeClock) -> Callable[[float], None]:
    """Let seconds pass, for the metastore as well."""
    return clock.advance


@pytest.fixture(scope="session")
def metastore_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], launcher.MetastoreServer]]:
    """The server of a version of Hive, started when it is first asked for."""
    require_tools(*TOOLS)
    servers: dict[str, launcher.MetastoreServer] = {}
    with ExitStack() as stack:

        def server(version: str) -> launcher.MetastoreServer:
            if version not in servers:
                home = tmp_path_factory.mktemp(f"hms-{version}")
                try:
                    started = stack.enter_context(launcher.running(version, home))
                except JavaSetupError as error:
                    unavailable(f"no metastore {version}: {error}")
                servers[version] = started
            return servers[version]

        yield server


@pytest.fixture(params=["embedded"])
def metastore(
    request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock
) -> Iterator[Metastore]:
    """An empty metastore with a time-out of 300 s."""
    assert request.param == "embedded"
    store = EmbeddedMetastore(str(tmp_path / "metastore.db"), txn_timeout=TIMEOUT, clock=clock)
    yield store
    store.close()


@pytest.fixture
def tables(metastore: Metastore) -> None:
    """``db.t``, not partitioned, and ``db.p``, partitioned by ``year``."""
    columns = (Column(name="id", type="int"), Column(name="name", type="string"))
    metastore.create_database("db", "file:/warehouse/db.db")
    metastore.create_table(
        Table(database="db", name="t", columns=columns, location="file:/warehouse/db.db/t")
    )
    metastore.create_table(
        Table(
            database="db",
            name="p",
            columns=columns,
            partition_columns=(Column(name="year", type="int"),),
            location="file:/warehouse/db.db/p",
        )
    )
