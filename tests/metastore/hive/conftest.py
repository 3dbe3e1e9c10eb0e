"""Servers of Hive, asked without acidsql's help, and clients of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.store import HiveMetastore
from tests.metastore.server.launcher import VERSIONS, MetastoreServer
from tests.metastore.subjects import connected, empty


@pytest.fixture(params=VERSIONS)
def server(
    request: pytest.FixtureRequest, metastore_server: Callable[[str], MetastoreServer]
) -> MetastoreServer:
    """Return an emptied server of each version."""
    found = metastore_server(request.param)
    empty(found)
    return found


@pytest.fixture
def is_hive4(server: MetastoreServer) -> bool:
    """Return whether the server is one of Hive 4."""
    return server.version.startswith("4.")


@pytest.fixture
def call(server: MetastoreServer) -> Iterator[Callable[..., Any]]:
    """Yield a function that calls the server."""
    connections = Connections(parse_uris(server.uri), user="ann", timeout=60)
    yield connections.call
    connections.close()


@pytest.fixture
def store(server: MetastoreServer) -> Iterator[HiveMetastore]:
    """Yield a client of the server."""
    store = connected(server)
    yield store
    store.close()


@pytest.fixture
def other(server: MetastoreServer) -> Iterator[HiveMetastore]:
    """Yield another client of the server."""
    store = connected(server, "bob")
    yield store
    store.close()
