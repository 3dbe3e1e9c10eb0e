from __future__ import annotations

import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace

import pytest

from acidsql.errors import MetastoreError
from acidsql.metastore.hive import connect
from acidsql.metastore.hive.connection import Connections, Endpoint, parse_uris
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.sasl import kerberos_handshake, sasl_handshake
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.tokens import TokenFile
from tests.metastore.hive.proxy import sasl_plain
from tests.metastore.hive.tables import make_tables
from tests.metastore.server.launcher import MetastoreServer


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thrift://a:1", ["a:1"]),
        ("thrift://a", ["a:9083"]),
        ("thrift://a:1,thrift://b:2", ["a:1", "b:2"]),
        ("thrift://a:1, b:2 ,c", ["a:1", "b:2", "c:9083"]),
        ("thrift://[::1]:7/", ["::1:7"]),
    ],
)
def test_addresses(text: str, expected: list[str]) -> None:
    assert [str(endpoint) for endpoint in parse_uris(text)] == expected


@pytest.mark.parametrize(
    "text",
    ["", "a:1", "http://a:1", "thrift://", "thrift://a:x", "thrift://a:1,http://b", "thrift://a/b"],
)
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(MetastoreError, match="METASTORE_URI"):
        parse_uris(text)


@pytest.mark.slow
def test_nobody_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    store = connect(f"thrift://127.0.0.1:{port}", user="ann", timeout=5)
    with pytest.raises(MetastoreError, match=rf"METASTORE_UNAVAILABLE.*127.0.0.1:{port}"):
        store.databases()


def test_no_metastore_is_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            with suppress(OSError):  # the listener is closed in the end
                while True:
                    connection, _ = listener.accept()
                    connection.recv(1)
                    connection.close()

        threading.Thread(target=hang_up, daemon=True).start()
        store = connect(f"thrift://127.0.0.1:{listener.getsockname()[1]}", user="ann", timeout=5)
        with pytest.raises(MetastoreError, match="METASTORE_AUTHENTICATION.*Kerberos"):
            store.databases()


@pytest.mark.parametrize(
    "answer",
    [
        b"\x04\x00\x00\x00\x13Invalid status -128",  # Thrift's SASL, of what is no SASL
        b"\x15\x03\x01\x00\x02\x02\x46",  # an alert of TLS
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
    ],
)
def test_server_speaks_another_language(answer: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def reply() -> None:
            with suppress(OSError):  # the listener is closed in the end
                connection, _ = listener.accept()
                connection.recv(1000)
                connection.sendall(answer)
                connection.close()

        threading.Thread(target=reply, daemon=True).start()
        store = connect(f"thrift://127.0.0.1:{listener.getsockname()[1]}", user="ann", timeout=5)
        with pytest.raises(MetastoreError, match=r"METASTORE_AUTHENTICATION.*Kerberos.*TLS"):
            store.databases()


@pytest.mark.parametrize("kerberos", [False, True])
def test_no_answer_in_time(kerberos: bool) -> None:
    """Check a server without SASL, which waits for the rest of what it reads as a long name."""
    handshake = sasl_handshake(lambda _: Plain("ann", "secret")) if kerberos else None
    with socket.create_server(("127.0.0.1", 0)) as silent:
        endpoints = parse_uris(f"thrift://127.0.0.1:{silent.getsockname()[1]}")
        connections = Connections(endpoints, user="ann", timeout=0.2, handshake=handshake)
        with pytest.raises(MetastoreError, match="METASTORE_TIMEOUT.*0.2 s") as caught:
            connections.call("get_all_databases")
    assert ("unset spark.acidsql.metastore.kerberos.principal" in caught.value.message) == kerberos


@pytest.mark.slow
def test_a_heartbeat_waits_a_part_of_the_time_out_of_transactions() -> None:
    """Other calls wait 600 s by default, twice as long as a transaction lives without one."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        uri = f"thrift://127.0.0.1:{silent.getsockname()[1]}"
        store = connect(uri, user="ann", timeout=600)
        store.server.txn_timeout = 2.0
        with pytest.raises(MetastoreError, match=r"METASTORE_TIMEOUT.*within 0\.2 s"):
            store.heartbeat([7])
        with pytest.raises(MetastoreError, match=r"METASTORE_TIMEOUT.*within 0\.2 s"):
            store.heartbeat([7, 8])
        store.close()
    short = connect(uri, user="ann", timeout=0.1)
    short.server.txn_timeout = 300.0
    with pytest.raises(MetastoreError, match="METASTORE_UNAVAILABLE"):
        short.heartbeat([7])
    short.close()


def test_host_of_the_principal() -> None:
    principal = Kerberos(principal="hive/_HOST@EXAMPLE.COM")
    assert (principal.service, principal.host_of("Node7")) == ("hive", "node7")
    behind = Kerberos(principal="hms/_HOST@EXAMPLE.COM", host="Real.example.com")
    assert (behind.service, behind.host_of("balancer")) == ("hms", "real.example.com")
    assert Kerberos(principal="hive/fixed@X").host_of("node7") == "fixed"


def test_kerberos_without_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gssapi", None)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uri = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        store = connect(uri, user="ann", timeout=5, kerberos=Kerberos(principal="hive/_HOST@X"))
        with pytest.raises(MetastoreError, match=r"METASTORE_AUTHENTICATION.*acidsql\[kerberos\]"):
            store.databases()
    assert callable(kerberos_handshake(Kerberos(principal="hive/_HOST@X")))


def test_neither_token_nor_principal(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        uri = f"thrift://127.0.0.1:{listener.getsockname()[1]}"
        for kerberos in (Kerberos(), Kerberos(token=TokenFile(tmp_path / "none"))):
            store = connect(uri, user="ann", timeout=5, kerberos=kerberos)
            with pytest.raises(MetastoreError, match=r"METASTORE_AUTHENTICATION.*tokenFile"):
                store.databases()


class Plain:
    """Mechanism PLAIN of SASL, which protects nothing."""

    name = "PLAIN"
    is_complete = True
    protects = False

    def __init__(self, user: str, password: str) -> None:
        self._response = f"\0{user}\0{password}".encode()

    def respond(self, challenge: bytes | None) -> bytes:
        assert challenge is None
        return self._response

    def wrap(self, message: bytes) -> list[bytes]:
        raise AssertionError(message)

    def unwrap(self, message: bytes) -> bytes:
        raise AssertionError(message)


def test_server_that_skips_the_handshake_is_not_trusted() -> None:
    class Unfinished(Plain):
        is_complete = False

    with socket.create_server(("127.0.0.1", 0)) as listener:

        def say_complete() -> None:
            connection, _ = listener.accept()
            connection.sendall(b"\x05\x00\x00\x00\x00")
            connection.recv(1000)

        threading.Thread(target=say_complete, daemon=True).start()
        endpoints = parse_uris(f"thrift://127.0.0.1:{listener.getsockname()[1]}")
        handshake = sasl_handshake(lambda _: Unfinished("ann", "secret"))
        connections = Connections(endpoints, user="ann", timeout=5, handshake=handshake)
        with pytest.raises(MetastoreError, match="METASTORE_AUTHENTICATION.*before it had said"):
            connections.call("get_all_databases")


@pytest.mark.metastore
def test_authentication(server: MetastoreServer, store: HiveMetastore) -> None:
    make_tables(store, server)
    with sasl_plain(server.port, lambda *who: who == ("ann", "secret")) as port:
        endpoints = parse_uris(f"thrift://127.0.0.1:{port}")
        handshake = sasl_handshake(lambda _: Plain("ann", "secret"))
        connections = Connections(endpoints, user="ann", timeout=20, handshake=handshake)
        behind = HiveMetastore(connections, user="ann")
        assert behind.tables("db") == ("p", "t")
        assert behind.table("db", "p") == store.table("db", "p")
        txn_id = behind.open_txn("ann", "host")
        behind.commit_txn(txn_id)
        assert store.valid_txns().is_valid(txn_id)
        behind.close()
        wrong = sasl_handshake(lambda _: Plain("ann", "guess"))
        stranger = Connections(endpoints, user="ann", timeout=20, handshake=wrong)
        with pytest.raises(MetastoreError, match="METASTORE_AUTHENTICATION.*refused"):
            stranger.call("get_all_databases")


def test_server_that_stumbles_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Check that calls are repeated after an error of JDO, as Hive's own client does."""

    class Stumbling:
        def __init__(self, times: int, message: str) -> None:
            self.left = times
            self.message = message

        def get_all_databases(self) -> list[str]:
            self.left -= 1
            if self.left >= 0:
                raise hms.MetaException(message=self.message)
            return ["default"]

    connections = Connections([Endpoint("nowhere", 1)], user="ann", timeout=1)

    def ask(client: Stumbling) -> object:
        monkeypatch.setattr(
            connections,
            "_take",
            lambda: SimpleNamespace(client=client, endpoint="nowhere:1", close=lambda: None),
        )
        return connections.call("get_all_databases")

    closed = "JDOFatalUserException: Persistence Manager has been closed"
    assert ask(Stumbling(2, closed)) == ["default"]
    with pytest.raises(MetastoreError, match="METASTORE_ERROR.*Persistence Manager"):
        ask(Stumbling(3, closed))
    once = Stumbling(1, "no such thing")
    with pytest.raises(MetastoreError, match="METASTORE_ERROR.*no such thing"):
        ask(once)
    assert once.left == 0
