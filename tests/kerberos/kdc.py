"""Real KDC (Apache Kerby) on loopback, with a keytab for each of its principals."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.java_tools import JAVA_OPTIONS, JavaSetupError, free_port, prepared, run_tool

_HERE = Path(__file__).parent
_REALM = "EXAMPLE.COM"
_STOP_SECONDS = 10
_KRB5_CONF = """[libdefaults]
default_realm = {realm}
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
udp_preference_limit = 1
[realms]
{realm} = {{
  kdc = 127.0.0.1:{port}
}}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kdc:
    """Running KDC.

    Attributes:
        home: directory of its files.
        realm: of its principals.
    """

    home: Path
    realm: str

    @property
    def krb5_conf(self) -> Path:
        """Configuration of its clients (``KRB5_CONFIG``, ``java.security.krb5.conf``)."""
        return self.home / "krb5.conf"

    def keytab(self, name: str) -> Path:
        """Return the keytab of a principal, by the first part of its name."""
        return self.home / f"{name}.keytab"


@contextmanager
def running(home: Path, principals: Sequence[str]) -> Iterator[Kdc]:
    """Run a KDC.

    Args:
        home: an empty directory.
        principals: such as ``hive/localhost``.

    Raises:
        JavaSetupError: it could not be fetched or started.
    """
    sources = [(_HERE / name).read_text() for name in ("pom.xml", "Kdc.java")]
    place = prepared("kdc", "kerby", sources, _prepare)
    port = free_port()
    (home / "krb5.conf").write_text(_KRB5_CONF.format(realm=_REALM, port=port))
    class_path = f"{place / 'classes'}:{(place / 'class-path').read_text().strip()}"
    with (
        (home / "out").open("w") as errors,
        subprocess.Popen(
            [
                *("java", *JAVA_OPTIONS, "-Xmx128m", "-cp", class_path, "Kdc"),
                *(_REALM, str(port), str(home), *principals),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            while (line := process.stdout.readline()) != "ready\n":
                if not line:
                    said = (home / "out").read_text()[-2000:]
                    raise JavaSetupError(f"the KDC did not start: {said}")
            yield Kdc(home=home, realm=_REALM)
        finally:
            process.stdin.close()
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait(_STOP_SECONDS)


def _prepare(work: Path) -> None:
    """Fetch what the KDC runs on, and compile its program."""
    shutil.copy(_HERE / "pom.xml", work)
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    run_tool(["mvn", "-q", "-B", *goals, f"-Dmdep.outputFile={work}/class-path"], work)
    class_path = (work / "class-path").read_text().strip()
    options = ["-nowarn", "-proc:none", "-d", str(work / "classes"), "-cp", class_path]
    run_tool(["javac", *options, str(_HERE / "Kdc.java")], work)
