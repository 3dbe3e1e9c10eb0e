"""Settings of the servers, from the options of ``acidsql serve``."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping

from acidsql.errors import AcidAnalysisError

AUTHENTICATIONS = ("none", "nosasl", "ldap", "kerberos", "pam", "custom")
"""Values of ``hive.server2.authentication``; the first two accept every client."""

CONNECT_AUTHENTICATIONS = ("none", "token")
"""Authentication methods of Spark Connect's clients; the first accepts every client."""

CONNECT_TOKEN = "spark.connect.authenticate.token"
"""Spark's setting with the token; a server with a token requires it from every client."""

CONNECT_TOKEN_VARIABLE = "SPARK_CONNECT_AUTHENTICATE_TOKEN"
"""Environment variable with the token, which Spark uses if the setting is missing."""

_CONNECT_ADDRESS = "spark.connect.grpc.binding.address"
_CONNECT_PORT = "spark.connect.grpc.binding.port"
_ANONYMOUS = ("none", "nosasl")
_AUTHENTICATION = "hive.server2.authentication"
_SSL = "hive.server2.use.SSL"
# Settings that an authentication needs. Without them, the server would refuse every client, or
# start and fail later.
_NEEDED = {
    "ldap": ("hive.server2.authentication.ldap.url",),
    "kerberos": (
        "hive.server2.authentication.kerberos.principal",
        "hive.server2.authentication.kerberos.keytab",
    ),
    "pam": ("hive.server2.authentication.pam.services",),
    "custom": ("hive.server2.custom.authentication.class",),
}


def hive_settings(
    *, host: str, port: int, authentication: str, given: Mapping[str, str]
) -> dict[str, str]:
    """Return the settings of a Thrift server.

    Args:
        host: address or name to listen on.
        port: port for Hive's protocol, over TCP or HTTP; 0 selects a free port.
        authentication: one of ``AUTHENTICATIONS``.
        given: the user's settings ``hive.server2.…``.

    Raises:
        AcidAnalysisError: MISSING_SERVER_SETTING, a setting for the authentication is missing.
    """
    for name in _NEEDED.get(authentication, ()):
        if not given.get(name):
            raise AcidAnalysisError(
                "MISSING_SERVER_SETTING",
                f"{authentication} needs {name}: give it by --conf spark.{name}=…, or in "
                "spark-defaults.conf",
                {"confName": name},
            )
    return {
        # All statements run as the user who started the server.
        "hive.server2.enable.doAs": "false",
        **given,
        "hive.server2.thrift.bind.host": host,
        "hive.server2.thrift.port": str(port),
        "hive.server2.thrift.http.port": str(port),
        _AUTHENTICATION: authentication.upper(),
    }


def dangers(settings: Mapping[str, str]) -> Iterator[str]:
    """Yield warnings about the security of a server with these settings."""
    host = settings["hive.server2.thrift.bind.host"]
    is_local = is_loopback(host)
    authentication = settings[_AUTHENTICATION].lower()
    if authentication in _ANONYMOUS:
        who = "everybody on this machine" if is_local else "everybody who can reach it"
        yield (
            f"no authentication: {who} can run statements as the user of this process, which can "
            "read and write files: use --auth ldap, kerberos, pam or custom"
        )
    is_encrypted = settings.get(_SSL, "false").lower() == "true"
    if not is_local and not is_encrypted and authentication != "kerberos":
        secret = "rows" if authentication in _ANONYMOUS else "passwords and rows"
        yield (
            f"no TLS: {secret} go over the network as they are: set spark.{_SSL} and "
            "spark.hive.server2.keystore.path"
        )


def connect_settings(
    *, host: str, port: int, authentication: str, has_token: bool
) -> dict[str, str]:
    """Return the settings of Spark Connect's server.

    Args:
        host: address or name to listen on.
        port: port to listen on; 0 selects a free port.
        authentication: one of ``CONNECT_AUTHENTICATIONS``.
        has_token: whether the user has set a token.

    Raises:
        AcidAnalysisError: MISSING_SERVER_SETTING, there is no token, but the authentication or the
            clients of other machines need one.
    """
    is_needed = authentication == "token" or not is_loopback(host)
    if is_needed and not has_token:
        why = "--auth token" if authentication == "token" else f"to listen on {host}"
        raise AcidAnalysisError(
            "MISSING_SERVER_SETTING",
            f"{why} needs {CONNECT_TOKEN}: give it in spark-defaults.conf, or in the environment "
            f"variable {CONNECT_TOKEN_VARIABLE}",
            {"confName": CONNECT_TOKEN},
        )
    return {_CONNECT_ADDRESS: host, _CONNECT_PORT: str(port)}


def connect_dangers(host: str, *, has_token: bool) -> Iterator[str]:
    """Yield warnings about the security of Spark Connect's server."""
    if not has_token:
        yield (
            "no authentication: everybody on this machine can run statements and code as the user "
            "of this process, which can read and write files: use --auth token"
        )
    if not is_loopback(host):
        yield (
            "no TLS: the token and rows go over the network as they are, and PySpark's client "
            "sends a token to other machines only by TLS: put a proxy that ends TLS before it"
        )


def is_loopback(host: str) -> bool:
    """Return whether a name or address can be reached only from this machine."""
    try:
        addresses = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(addresses) and all(ipaddress.ip_address(str(a)).is_loopback for a in addresses)


def check_address(host: str, port: int, condition: str = "THRIFT_SERVER_NOT_STARTED") -> None:
    """Check that a server can listen on an address.

    Raises:
        AcidAnalysisError: the server cannot listen; the error has the condition ``condition``.
    """
    # Check this first, because Spark 3.5 would end the whole process.
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise AcidAnalysisError(
            condition,
            f"cannot listen on {host}:{port} ({error}): choose another --host or --port",
        ) from error
