"""Hive's settings of the server, as the options of ``acidsql serve`` say them."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Iterator, Mapping

from acidsql.errors import AcidAnalysisError

AUTHENTICATIONS = ("none", "nosasl", "ldap", "kerberos", "pam", "custom")
"""Values of ``hive.server2.authentication``; the first two let in everybody."""

_ANONYMOUS = ("none", "nosasl")
_AUTHENTICATION = "hive.server2.authentication"
_SSL = "hive.server2.use.SSL"
# Without which the server would refuse every client, or start and fail later.
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
    """Return the settings of a server.

    Args:
        host: address or name to listen on.
        port: for Hive's protocol, by TCP or HTTP; 0 is any that is free.
        authentication: one of ``AUTHENTICATIONS``.
        given: settings that the user gave, ``hive.server2.…``.

    Raises:
        AcidAnalysisError: MISSING_SERVER_SETTING, the authentication needs one that was not given.
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
    """Yield what the user should know about who can use a server with these settings."""
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


def is_loopback(host: str) -> bool:
    """Return whether a name or address is of this machine alone."""
    try:
        found = {info[4][0] for info in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(a)).is_loopback for a in found)


def check_address(host: str, port: int) -> None:
    """Check that a server can listen on an address.

    Raises:
        AcidAnalysisError: THRIFT_SERVER_NOT_STARTED.
    """
    # Spark 3.5 would end the whole process.
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            f"cannot listen on {host}:{port} ({error}): choose another --host or --port",
        ) from error
