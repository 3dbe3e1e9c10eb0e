"""Tests of the server's settings, and of what the user is warned of."""

from __future__ import annotations

import socket

import pytest
from click.testing import CliRunner

from acidsql.errors import AcidAnalysisError
from acidsql.repl.main import main
from acidsql.serve.options import (
    check_address,
    connect_dangers,
    connect_settings,
    dangers,
    hive_settings,
    is_loopback,
)

_LDAP = {"hive.server2.authentication.ldap.url": "ldaps://localhost"}


def settings(authentication: str = "none", host: str = "127.0.0.1", **given: str) -> dict[str, str]:
    named = {f"hive.server2.{key}": value for key, value in given.items()}
    return hive_settings(host=host, port=1, authentication=authentication, given=named)


def test_options_win_over_settings() -> None:
    found = hive_settings(
        host="::1",
        port=7,
        authentication="ldap",
        given={
            **_LDAP,
            "hive.server2.thrift.bind.host": "0.0.0.0",
            "hive.server2.thrift.port": "8",
            "hive.server2.authentication": "NONE",
            "hive.server2.idle.session.timeout": "1h",
        },
    )
    assert found == {
        **_LDAP,
        "hive.server2.authentication": "LDAP",
        "hive.server2.enable.doAs": "false",
        "hive.server2.idle.session.timeout": "1h",
        "hive.server2.thrift.bind.host": "::1",
        "hive.server2.thrift.http.port": "7",
        "hive.server2.thrift.port": "7",
    }


@pytest.mark.parametrize(
    ("authentication", "missing"),
    [
        ("ldap", "hive.server2.authentication.ldap.url"),
        ("kerberos", "hive.server2.authentication.kerberos.principal"),
        ("pam", "hive.server2.authentication.pam.services"),
        ("custom", "hive.server2.custom.authentication.class"),
    ],
)
def test_what_an_authentication_needs_is_demanded(authentication: str, missing: str) -> None:
    with pytest.raises(AcidAnalysisError) as raised:
        settings(authentication)
    assert raised.value.getCondition() == "MISSING_SERVER_SETTING"
    assert raised.value.getMessageParameters() == {"confName": missing}


def test_anonymous_access_is_told_even_on_loopback() -> None:
    (warning,) = dangers(settings())
    assert "no authentication: everybody on this machine" in warning


def test_anonymous_access_from_elsewhere_is_told_with_missing_tls() -> None:
    access, encryption = dangers(settings("nosasl", "0.0.0.0"))
    assert "everybody who can reach it" in access
    assert "no TLS: rows go over the network" in encryption


def test_passwords_without_tls_are_told() -> None:
    found = hive_settings(host="0.0.0.0", port=1, authentication="ldap", given=_LDAP)
    assert ["no TLS: passwords" in warning for warning in dangers(found)] == [True]


def test_passwords_on_loopback_or_with_tls_are_not_told() -> None:
    assert not list(
        dangers(hive_settings(host="localhost", port=1, authentication="ldap", given=_LDAP))
    )
    encrypted = {**_LDAP, "hive.server2.use.SSL": "true"}
    assert not list(
        dangers(hive_settings(host="0.0.0.0", port=1, authentication="ldap", given=encrypted))
    )


@pytest.mark.parametrize(
    ("host", "is_local"),
    [("127.0.0.1", True), ("127.1.2.3", True), ("::1", True), ("0.0.0.0", False), ("::", False)],
)
def test_loopback(host: str, is_local: bool) -> None:
    assert is_loopback(host) is is_local


def test_an_address_in_use_is_refused() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with pytest.raises(AcidAnalysisError, match="another --host or --port") as raised:
            check_address("127.0.0.1", port)
    assert raised.value.getCondition() == "THRIFT_SERVER_NOT_STARTED"
    check_address("127.0.0.1", port)


def test_spark_connect_listens_on_loopback_with_and_without_a_token() -> None:
    for authentication, has_token in (("none", False), ("none", True), ("token", True)):
        found = connect_settings(
            host="127.0.0.1", port=7, authentication=authentication, has_token=has_token
        )
        assert found == {
            "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.connect.grpc.binding.port": "7",
        }


@pytest.mark.parametrize(
    ("host", "authentication", "why"),
    [("127.0.0.1", "token", "--auth token needs"), ("0.0.0.0", "none", "listen on 0.0.0.0 needs")],
)
def test_spark_connect_without_the_token_that_it_needs(
    host: str, authentication: str, why: str
) -> None:
    with pytest.raises(AcidAnalysisError, match=why) as raised:
        connect_settings(host=host, port=7, authentication=authentication, has_token=False)
    assert raised.value.getCondition() == "MISSING_SERVER_SETTING"
    assert raised.value.getMessageParameters() == {"confName": "spark.connect.authenticate.token"}


def test_dangers_of_spark_connect() -> None:
    assert not list(connect_dangers("localhost", has_token=True))
    (access,) = connect_dangers("localhost", has_token=False)
    assert "no authentication: everybody on this machine" in access
    (encryption,) = connect_dangers("0.0.0.0", has_token=True)
    assert "no TLS: the token and rows" in encryption


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--auth", "token"], "--auth token is not one of none, nosasl"),
        (["--connect", "--auth", "ldap"], "--auth ldap is not one of none, token, with --connect"),
    ],
)
def test_an_authentication_of_the_other_server(options: list[str], said: str) -> None:
    answer = CliRunner().invoke(main, ["serve", *options])
    assert answer.exit_code == 2
    assert said in answer.output
