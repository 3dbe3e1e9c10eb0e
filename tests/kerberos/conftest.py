"""KDC and metastore servers of these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.java_tools import TOOLS, JavaSetupError
from tests.kerberos import gssapi_package
from tests.kerberos.kdc import Kdc
from tests.kerberos.kdc import running as running_kdc
from tests.metastore.server.launcher import Login, MetastoreServer, ServerCertificate
from tests.metastore.server.launcher import running as running_metastore
from tests.requirements import require_tools, unavailable

Server = Callable[..., MetastoreServer]

_SECONDS = 120
_ROOT = Path(__file__).parents[2]


def ticket_environment(kdc: Kdc, gssapi: str, place: Path) -> dict[str, str]:
    """Return the environment of a process that has the key of ann, and keeps her tickets in a
    directory.
    """
    return {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_ROOT), gssapi))),
        "KRB5_CONFIG": str(kdc.krb5_conf),
        "KRB5CCNAME": f"FILE:{place}/tickets",
        "KRB5_CLIENT_KTNAME": str(kdc.keytab("ann")),
    }


def run_program(name: str, arguments: Sequence[str], environment: Mapping[str, str]) -> Any:
    """Run a program of this package in a process of its own; return what it printed as JSON."""
    done = subprocess.run(
        [sys.executable, "-m", f"tests.kerberos.{name}", *arguments],
        env=environment,
        cwd=_ROOT,
        capture_output=True,
        text=True,
        timeout=_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="session")
def gssapi() -> str:
    """Return the directory to import gssapi from."""
    try:
        return gssapi_package.import_path()
    except gssapi_package.NoGssapiError as error:
        unavailable(str(error))


@pytest.fixture(scope="session")
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


@pytest.fixture(scope="session")
def server(kdc: Kdc, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """Yield a function that starts the server of a version and a protection, or returns it.

    Further settings are those of ``metastore-site.xml``.
    """
    servers: dict[object, MetastoreServer] = {}
    with ExitStack() as stack:

        def start(
            version: str,
            protection: str,
            certificate: ServerCertificate | None = None,
            **settings: str,
        ) -> MetastoreServer:
            key = version, protection, certificate, *settings.items()
            if key not in servers:
                home = tmp_path_factory.mktemp(f"hms-{version}")
                login = Login(
                    principal=f"hive/localhost@{kdc.realm}",
                    keytab=kdc.keytab("hive"),
                    krb5_conf=kdc.krb5_conf,
                    protection=protection,
                )
                running = running_metastore(version, home, settings, login, certificate)
                try:
                    servers[key] = stack.enter_context(running)
                except JavaSetupError as error:
                    unavailable(f"no metastore {version}: {error}")
            return servers[key]

        yield start


Tokens = Callable[..., Any]


@pytest.fixture
def tokens(kdc: Kdc, gssapi: str, tmp_path: Path) -> Tokens:
    """Return a function that makes a server issue, renew or cancel a token, with ann's ticket:
    ``tokens(server, "get_delegation_token", "ann", "ann")``.
    """

    def call(server: MetastoreServer, *arguments: str) -> Any:
        certificate = server.certificate
        return run_program(
            "token_program",
            [
                f"thrift://localhost:{server.port}",
                f"hive/_HOST@{kdc.realm}",
                "" if certificate is None else str(certificate.pem),
                *arguments,
            ],
            ticket_environment(kdc, gssapi, tmp_path),
        )

    return call
