"""An LDAP server with TLS on loopback, and the certificate that it and other servers show."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from tests.java_tools import JavaSetupError, prepared, run_tool, stop

SECRET = "changeit"
_HERE = Path(__file__).parent
_STOP_SECONDS = 30


@lru_cache(maxsize=1)
def _class_path() -> str:
    place = prepared("serve", "ldap", [(_HERE / "pom.xml").read_text()], _prepare)
    return (place / "class-path").read_text().strip()


def _prepare(work: Path) -> None:
    shutil.copy(_HERE / "pom.xml", work)
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    run_tool(["mvn", "-q", "-B", *goals, f"-Dmdep.outputFile={work}/class-path"], work)


def make_certificate(work: Path) -> tuple[Path, Path]:
    """Make a certificate of localhost; return a store with its key, and one that trusts it."""
    keys, certificate, trusted = (work / name for name in ("keys.p12", "server.pem", "trusted.p12"))
    common = ["-storetype", "PKCS12", "-storepass", SECRET, "-alias", "server"]
    names = ["-dname", "CN=localhost", "-ext", "SAN=dns:localhost,ip:127.0.0.1"]
    made = ["keytool", "-genkeypair", "-keyalg", "EC", "-validity", "30", *names]
    run_tool([*made, "-keystore", str(keys), *common], work)
    exported = ["keytool", "-exportcert", "-rfc", "-file", str(certificate)]
    run_tool([*exported, "-keystore", str(keys), *common], work)
    imported = ["keytool", "-importcert", "-noprompt", "-file", str(certificate)]
    run_tool([*imported, "-keystore", str(trusted), *common], work)
    return keys, trusted


@contextmanager
def running(keys: Path, password: str) -> Iterator[str]:
    """Run a server within the block; yield its address.

    Args:
        keys: store with the key of its certificate.
        password: of the one person in it, ``uid=anna,dc=example,dc=org``.

    Raises:
        JavaSetupError: it cannot be had, or does not start.
    """
    command = ["java", "-Xmx128m", "-XX:+UseSerialGC", "-cp", _class_path()]
    with subprocess.Popen(
        [*command, str(_HERE / "LdapServer.java"), str(keys), SECRET, password],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        address = process.stdout.readline().strip()
        if not address.startswith("ldaps://"):
            raise JavaSetupError(f"the LDAP server did not start: {address}")
        try:
            yield address
        finally:
            stop(process, _STOP_SECONDS)
