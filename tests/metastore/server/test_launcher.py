"""Tests that the servers of the tests are real, not shared and reachable from this machine only."""

from __future__ import annotations

import socket
from collections.abc import Callable

import pytest

from tests.metastore.server.launcher import VERSIONS, MetastoreServer, answers

pytestmark = pytest.mark.metastore


@pytest.mark.parametrize("version", VERSIONS)
def test_server_listens_on_loopback_only(
    metastore_server: Callable[[str], MetastoreServer], version: str
) -> None:
    server = metastore_server(version)
    assert server.version == version
    assert answers(server.port)
    # All of 127.0.0.0/8 is this machine: a server on every interface would answer here too.
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", server.port), 2)
