"""Tests with real metastores and a real KDC: who is let in, which messages can be read."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.java_tools import TOOLS, JavaSetupError
from tests.kerberos import gssapi_package
from tests.kerberos.kdc import Kdc
from tests.kerberos.kdc import running as running_kdc
from tests.metastore.hive.proxy import Proxy, proxied
from tests.metastore.server.launcher import (
    Login,
    MetastoreServer,
    ServerCertificate,
    authenticates,
    make_certificate,
)
from tests.metastore.server.launcher import running as running_metastore
from tests.requirements import require_tools, unavailable

pytestmark = pytest.mark.kerberos

_SECONDS = 120
_DATABASE = "read_me_if_you_can"
_ROOT = Path(__file__).parents[2]
# How a protected message begins: its kind, flags, a filler (RFC 4121, 4.2.6.2).
_TOKEN = re.compile(rb"\x05\x04(.)\xff", re.DOTALL)
_SEALED = 2

Server = Callable[..., MetastoreServer]
Client = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def gssapi() -> str:
    """Return the directory to import gssapi from."""
    try:
        return gssapi_package.import_path()
    except gssapi_package.NoGssapiError as error:
        # Also where ACIDSQL_REQUIRE is set: it takes a compiler, and headers that only root may
        # install.
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def kdc(
    gssapi: str,  # noqa: ARG001 - nothing is started where it is missing
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Kdc]:
    """Run a KDC with a principal of the server and one of a user."""
    require_tools(*TOOLS)
    try:
        with running_kdc(tmp_path_factory.mktemp("kdc"), ["hive/localhost", "ann"]) as started:
            yield started
    except JavaSetupError as error:
        unavailable(f"no KDC: {error}")


@pytest.fixture(scope="module")
def server(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a function that starts the server of a version and a protection, or returns it."""
    servers: dict[tuple[str, str, ServerCertificate | None], MetastoreServer] = {}
    with ExitStack() as stack:

        def start(
            version: str, protection: str, certificate: ServerCertificate | None = None
        ) -> MetastoreServer:
            key = version, protection, certificate
            if key not in servers:
                home = tmp_path_factory.mktemp(f"hms-{version}")
                login = Login(
                    principal=f"hive/localhost@{kdc.realm}",
                    keytab=kdc.keytab("hive"),
                    krb5_conf=kdc.krb5_conf,
                    protection=protection,
                )
                running = running_metastore(version, home, login=login, certificate=certificate)
                try:
                    servers[key] = stack.enter_context(running)
                except JavaSetupError as error:
                    unavailable(f"no metastore {version}: {error}")
            return servers[key]

        yield start


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
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), gssapi))),
            "KRB5_CONFIG": str(kdc.krb5_conf),
            "KRB5CCNAME": f"FILE:{tmp_path}/tickets",
            "KRB5_CLIENT_KTNAME": str(keytab or kdc.keytab("ann")),
        }
        arguments = [f"thrift://localhost:{port}", f"{service}/_HOST@{kdc.realm}", least, _DATABASE]
        arguments += [] if ca_file is None else [str(ca_file)]
        done = subprocess.run(
            [sys.executable, "-m", "tests.kerberos.client_program", *arguments],
            env=environment,
            cwd=_ROOT,
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        answer: dict[str, Any] = json.loads(done.stdout)
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
    assert answer["databases"] == ["default", _DATABASE]
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
        assert answer["databases"] == ["default", _DATABASE]
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
