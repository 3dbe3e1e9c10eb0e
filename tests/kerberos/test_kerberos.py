"""Tests with real metastores and a real KDC: who is let in, which messages can be read."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.kerberos.conftest import Server, run_program, ticket_environment
from tests.kerberos.kdc import Kdc
from tests.metastore.hive.proxy import Proxy, proxied
from tests.metastore.server.launcher import authenticates, make_certificate

pytestmark = pytest.mark.kerberos

_DATABASE = "read_me_if_you_can"
# How a protected message begins: its kind, flags, a filler (RFC 4121, 4.2.6.2).
_TOKEN = re.compile(rb"\x05\x04(.)\xff", re.DOTALL)
_SEALED = 2

Client = Callable[..., dict[str, Any]]


@pytest.fixture
def client(kdc: Kdc, gssapi: str, tmp_path: Path) -> Client:
    """Return a function that runs a client in a process of its own and returns its answer."""

    def run(
        port: int,
        *,
        service: str = "hive",
        least: str = "authentication",
        keytab: Path | None = None,
        ca_file: Path | None = None,
    ) -> dict[str, Any]:
        environment = ticket_environment(kdc, gssapi, tmp_path)
        if keytab is not None:
            environment["KRB5_CLIENT_KTNAME"] = str(keytab)
        arguments = [f"thrift://localhost:{port}", f"{service}/_HOST@{kdc.realm}", least, _DATABASE]
        arguments += [] if ca_file is None else [str(ca_file)]
        answer: dict[str, Any] = run_program("client_program", arguments, environment)
        return answer

    return run


@pytest.fixture
def tap(server: Server) -> Iterator[Callable[[str, str], Proxy]]:
    """Yield a function that puts a proxy before a server."""
    with ExitStack() as stack:
        yield lambda *which: stack.enter_context(proxied(server(*which).port))


@pytest.mark.parametrize(
    ("version", "protection"),
    [
        ("4.1.0", "authentication"),
        ("4.1.0", "integrity"),
        ("4.1.0", "privacy"),
        ("4.0.1", "privacy"),
        ("3.1.3", "privacy"),
    ],
)
def test_messages_are_protected_as_the_server_is_configured(
    tap: Callable[[str, str], Proxy], client: Client, version: str, protection: str
) -> None:
    proxy = tap(version, protection)
    answer = client(proxy.port)
    assert answer.get("agreed") == [protection], answer
    assert _DATABASE in answer["databases"]
    assert answer["committed"]
    assert answer["echoed"]
    assert (_DATABASE.encode() in proxy.sent) == (protection != "privacy")
    # One agrees on the protection, and is not encrypted. The rest is what was agreed on.
    agreement, *messages = [bool(flags[0] & _SEALED) for flags in _TOKEN.findall(proxy.sent)]
    assert not agreement
    assert (
        set(messages)
        == {"authentication": set(), "integrity": {False}, "privacy": {True}}[protection]
    )


def test_kerberos_within_tls(server: Server, client: Client, tmp_path: Path) -> None:
    certificate = make_certificate(tmp_path)
    with proxied(server("4.1.0", "authentication", certificate).port) as proxy:
        answer = client(proxy.port, ca_file=certificate.pem)
        assert answer.get("agreed") == ["authentication"], answer
        assert _DATABASE in answer["databases"]
        assert answer["committed"]
        assert _DATABASE.encode() not in proxy.sent


def test_server_that_protects_less_than_is_wanted_is_refused(
    server: Server, client: Client
) -> None:
    answer = client(server("4.1.0", "authentication").port, least="integrity")
    assert answer["condition"] == "METASTORE_AUTHENTICATION"
    assert "hadoop.rpc.protection asks for integrity or more" in answer["message"]


@pytest.mark.parametrize("version", ["4.1.0", "4.0.1", "3.1.3"])
def test_server_listens_on_loopback_only(server: Server, version: str) -> None:
    port = server(version, "privacy").port
    assert authenticates(port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", port), 2)


def test_user_without_a_ticket(server: Server, client: Client, tmp_path: Path) -> None:
    answer = client(server("4.1.0", "authentication").port, keytab=tmp_path / "none")
    assert answer["condition"] == "METASTORE_AUTHENTICATION"
    assert "klist" in answer["message"]


def test_principal_that_is_not_the_server_s(server: Server, client: Client) -> None:
    answer = client(server("4.1.0", "authentication").port, service="impala")
    assert answer["condition"] == "METASTORE_AUTHENTICATION"
    assert "impala/localhost" in answer["message"]
