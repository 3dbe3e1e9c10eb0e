"""Tests of metastores that speak TLS: who is trusted, and that others cannot read along."""

from __future__ import annotations

import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive import connect
from acidsql.metastore.hive.connection import Connections, Endpoint
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.tls import Tls
from tests.metastore.hive.proxy import proxied
from tests.metastore.server.launcher import (
    MetastoreServer,
    ServerCertificate,
    make_certificate,
)

pytestmark = pytest.mark.metastore

_DATABASE = "read_me_if_you_can"
_SECONDS = 20


def _client(port: int, tls: Tls | None, host: str = "localhost") -> HiveMetastore:
    return connect(f"thrift://{host}:{port}", user="ann", timeout=_SECONDS, tls=tls)


def test_nothing_is_readable_on_its_way(
    tls_server: MetastoreServer, certificate: ServerCertificate
) -> None:
    with proxied(tls_server.port) as proxy:
        store = _client(proxy.port, Tls(ca_file=str(certificate.pem)))
        if _DATABASE not in store.databases():
            store.create_database(_DATABASE, f"file:/nowhere/{_DATABASE}")
        txn_id = store.open_txn("ann", "host")
        store.commit_txn(txn_id)
        assert store.databases() == ("default", _DATABASE)
        assert store.valid_txns().is_valid(txn_id)
        store.close()
        assert proxy.connections == 1  # the pool keeps it
        assert proxy.sent
        assert _DATABASE.encode() not in proxy.sent


def test_a_connection_that_is_not_let_in_is_closed(
    tls_server: MetastoreServer, certificate: ServerCertificate
) -> None:
    opened: list[socket.socket] = []

    def refuse(connected: socket.socket, _: Endpoint) -> None:
        opened.append(connected)
        raise MetastoreError("METASTORE_AUTHENTICATION", "no")

    connections = Connections(
        [Endpoint("localhost", tls_server.port)],
        user="ann",
        timeout=_SECONDS,
        tls=Tls(ca_file=str(certificate.pem)).context(),
        handshake=refuse,
    )
    with pytest.raises(MetastoreError, match="no"):
        connections.call("getVersion")
    assert [one.fileno() for one in opened] == [-1]


def test_a_certificate_must_be_trusted(tls_server: MetastoreServer, tmp_path: Path) -> None:
    for tls in (Tls(), Tls(ca_certificates=make_certificate(tmp_path).pem.read_text())):
        with pytest.raises(MetastoreError, match="is not trusted .*self.signed") as raised:
            _client(tls_server.port, tls).databases()
        assert raised.value.condition == "METASTORE_AUTHENTICATION"


def test_a_certificate_must_have_the_server_s_name(
    tls_server: MetastoreServer, certificate: ServerCertificate
) -> None:
    tls = Tls(ca_file=str(certificate.pem))
    with pytest.raises(MetastoreError, match="is not trusted .*127.0.0.1") as raised:
        _client(tls_server.port, tls, "127.0.0.1").databases()
    assert raised.value.condition == "METASTORE_AUTHENTICATION"


def test_a_client_that_does_not_expect_tls(tls_server: MetastoreServer) -> None:
    with pytest.raises(MetastoreError, match="or TLS") as raised:
        _client(tls_server.port, None).databases()
    assert raised.value.condition == "METASTORE_AUTHENTICATION"


def test_a_server_that_does_not_speak_tls(
    metastore_server: Callable[[str], MetastoreServer],
) -> None:
    server = metastore_server("4.1.0")
    with pytest.raises(MetastoreError, match="cannot be spoken to by TLS") as raised:
        _client(server.port, Tls()).databases()
    assert raised.value.condition == "METASTORE_AUTHENTICATION"


def test_certificates_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no certificate")
    for name in ("text", "missing"):
        with pytest.raises(MetastoreError, match="cannot be read") as raised:
            _client(9083, Tls(ca_file=str(tmp_path / name)))
        assert raised.value.condition == "METASTORE_AUTHENTICATION"
