"""Metastores under test, each empty.

The behaviour suite knows only the protocol, and runs against every implementation that
``metastore`` gives: ``test_catalog``, ``test_partitions``, ``test_transactions``,
``test_write_ids``, ``test_locks``, ``test_write_conflicts`` and ``test_compaction_queue``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from acidsql.metastore.model import Column, Partition, Table
from acidsql.metastore.protocol import Metastore
from tests.java_tools import TOOLS, JavaSetupError
from tests.metastore.server import launcher
from tests.metastore.subjects import (
    EMPLOYEE,
    SERVER_SETTINGS,
    Subject,
    embedded_subject,
    hive_subject,
    kinds,
)
from tests.requirements import require_tools, unavailable


@pytest.fixture(scope="session")
def metastore_server(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Callable[[str], launcher.MetastoreServer]]:
    """Yield a function that returns the server of a version of Hive, started by its first call."""
    require_tools(*TOOLS)
    servers: dict[str, launcher.MetastoreServer] = {}
    with ExitStack() as stack:

        def server(version: str) -> launcher.MetastoreServer:
            if version not in servers:
                home = tmp_path_factory.mktemp(f"hms-{version}")
                try:
                    started = stack.enter_context(launcher.running(version, home, SERVER_SETTINGS))
                except JavaSetupError as error:
                    unavailable(f"no metastore {version}: {error}")
                servers[version] = started
            return servers[version]

        yield server


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> launcher.ServerCertificate:
    """Make the certificate of servers that speak TLS."""
    require_tools(*TOOLS)
    return launcher.make_certificate(tmp_path_factory.mktemp("certificate"))


@pytest.fixture(scope="session", params=["4.1.0", "3.1.3"])
def tls_server(
    request: pytest.FixtureRequest,
    certificate: launcher.ServerCertificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[launcher.MetastoreServer]:
    """Run a server that speaks TLS."""
    home = tmp_path_factory.mktemp("hms-tls")
    try:
        with launcher.running(request.param, home, certificate=certificate) as started:
            yield started
    except JavaSetupError as error:
        unavailable(f"no metastore {request.param}: {error}")


@pytest.fixture(params=kinds("embedded", *launcher.VERSIONS))
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Subject]:
    """Yield a metastore under test, with its clock."""
    if request.param == "embedded":
        with embedded_subject(tmp_path / "metastore.db") as embedded:
            yield embedded
        return
    server: Callable[[str], launcher.MetastoreServer] = request.getfixturevalue("metastore_server")
    with hive_subject(server(request.param)) as hive:
        yield hive


@pytest.fixture
def metastore(subject: Subject) -> Metastore:
    """Return an empty metastore with a time-out of 300 s."""
    return subject.store


@pytest.fixture
def kind(subject: Subject) -> str:
    """Return ``embedded``, or the version of Hive."""
    return subject.kind


@pytest.fixture
def advance(subject: Subject) -> Callable[[float], None]:
    """Let seconds pass, for the metastore as well."""
    return subject.advance


@pytest.fixture
def at(subject: Subject) -> Callable[[float], Any]:
    """Return a function from seconds since the beginning of the test to seconds since 1970."""
    return subject.at


@pytest.fixture
def reap(subject: Subject) -> Callable[[], tuple[int, ...]]:
    """Have transactions aborted that timed out."""
    return subject.reap


@pytest.fixture
def tables(subject: Subject) -> None:
    """Create ``db.t``, not partitioned, and ``db.p`` with the partitions ``year`` 1 and 2."""
    columns = (Column(name="id", type="int"), Column(name="name", type="string"))
    metastore, place = subject.store, f"{subject.warehouse}/db.db"
    metastore.create_database("db", place)
    plain = Table(database="db", name="t", columns=columns, location=f"{place}/t")
    metastore.create_table(plain)
    year = Column(name="year", type="int")
    metastore.create_table(
        replace(plain, name="p", partition_columns=(year,), location=f"{place}/p")
    )
    partitions = [Partition(values=(y,), location=f"{place}/p/year={y}") for y in "12"]
    metastore.add_partitions("db", "p", partitions)


@pytest.fixture
def employee(subject: Subject) -> Table:
    """Return a definition of ``default.employee``, which is not created yet."""
    return replace(EMPLOYEE, location=f"{subject.warehouse}/employee")


@pytest.fixture
def france(employee: Table) -> Partition:
    return Partition(
        values=("France", "1999"), location=f"{employee.location}/land=France/year=1999"
    )


@pytest.fixture
def spain(employee: Table) -> Partition:
    return Partition(values=("Spain", "2000"), location=f"{employee.location}/land=Spain/year=2000")
