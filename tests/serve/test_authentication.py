"""Tests of ``acidsql serve`` with passwords in LDAP, and TLS on both sides of the server."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from acidsql.repl.main import main
from tests.java_tools import JavaSetupError
from tests.requirements import require_tools, unavailable
from tests.serve.conftest import serving, url
from tests.serve.jdbc import Driver, JdbcError
from tests.serve.ldap import SECRET, make_certificate, running

_PASSWORD = "anna's own"


def test_nobody_is_let_in_unasked() -> None:
    answer = CliRunner().invoke(main, ["serve"])
    assert answer.exit_code == 2
    assert "Missing option '--auth'" in answer.output


@pytest.mark.spark
@pytest.mark.serve
def test_a_password_is_asked_of_ldap_over_tls(tmp_path: Path, jdbc: Driver) -> None:
    require_tools("mvn", "keytool")
    keys, trusted = make_certificate(tmp_path)
    trust = f"-Djavax.net.ssl.trustStore={trusted} -Djavax.net.ssl.trustStorePassword={SECRET}"
    server = "spark.hive.server2"
    try:
        with running(keys, _PASSWORD) as address:
            settings = {
                f"{server}.authentication.ldap.url": address,
                f"{server}.authentication.ldap.baseDN": "dc=example,dc=org",
                f"{server}.use.SSL": "true",
                f"{server}.keystore.path": str(keys),
                f"{server}.keystore.password": SECRET,
                "spark.driver.extraJavaOptions": f"-Dderby.system.home={tmp_path} {trust}",
            }
            with serving(tmp_path, "ldap", settings) as port:
                _check(jdbc, url(port), f";ssl=true;sslTrustStore={trusted}")
    except JavaSetupError as error:
        unavailable(str(error))


def _check(jdbc: Driver, place: str, tls: str) -> None:
    encrypted = f"{place}{tls};trustStorePassword={SECRET}"
    anna = jdbc.connect(encrypted, "anna", _PASSWORD)
    assert anna.execute("SELECT current_user() <> ''") == [["true"]]
    anna.close()
    for user, password in (("anna", "wrong"), ("anna", ""), ("otto", _PASSWORD), ("", "")):
        with pytest.raises(JdbcError):
            jdbc.connect(encrypted, user, password)
    with pytest.raises(JdbcError):
        jdbc.connect(place, "anna", _PASSWORD)
