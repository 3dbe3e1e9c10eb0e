"""Authentication to a metastore by SASL, as Hadoop servers expect it (HadoopThriftAuthBridge)."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable
from typing import Any

from thriftpy2.protocol.binary import TBinaryProtocol
from thriftpy2.transport import TSocket, TTransportException
from thriftpy2.transport.sasl import TSaslClientTransport

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.connection import Endpoint, Handshake
from acidsql.metastore.hive.digest_mechanism import DigestMechanism
from acidsql.metastore.hive.gssapi_mechanism import GssapiMechanism
from acidsql.metastore.hive.sasl_mechanism import Mechanism, SaslError
from acidsql.metastore.kerberos import Kerberos, Protection
from acidsql.metastore.tokens import DelegationToken

_LENGTH = struct.Struct(">I")


_CHECK_TICKET = (
    "check that you have a ticket (klist), and that spark.acidsql.metastore.kerberos.principal is "
    "the server's"
)


def kerberos_handshake(kerberos: Kerberos) -> Handshake:
    """Return a handshake that authenticates with a delegation token or with Kerberos.

    It uses a delegation token if one exists, as Hive's client does (HiveMetaStoreClient). Otherwise
    it uses the user's Kerberos ticket (``kinit``) or keytab (``KRB5_CLIENT_KTNAME``), which needs
    the extra ``acidsql[kerberos]``.

    Raises:
        MetastoreError: METASTORE_AUTHENTICATION, by the handshake.
    """

    def by_ticket(endpoint: Endpoint) -> Mechanism:
        host = kerberos.host_of(endpoint.host)
        return GssapiMechanism(_gssapi(), kerberos.service, host, kerberos.protection)

    def handshake(connected: socket.socket, endpoint: Endpoint) -> Any:
        token = kerberos.current_token()
        if token is not None:
            return _token_handshake(token, kerberos.protection)(connected, endpoint)
        if not kerberos.principal:
            raise MetastoreError(
                "METASTORE_AUTHENTICATION",
                f"the metastore {endpoint} wants a delegation token or a Kerberos ticket, and "
                "there is no token: set spark.acidsql.metastore.kerberos.principal, or give a "
                "token by spark.acidsql.metastore.kerberos.tokenFile",
            )
        return sasl_handshake(by_ticket)(connected, endpoint)

    return handshake


def _token_handshake(token: DelegationToken, least: Protection) -> Handshake:
    return sasl_handshake(
        lambda _: DigestMechanism(token.user, token.secret, least),
        advice=f"{token} was used; it may have expired or been cancelled, or be of another "
        "metastore: get a new one, or begin again with a ticket",
    )


def sasl_handshake(
    make_mechanism: Callable[[Endpoint], Mechanism], *, advice: str = _CHECK_TICKET
) -> Handshake:
    """Return a handshake that uses a SASL mechanism.

    Args:
        make_mechanism: creates the mechanism for a connection to a server.
        advice: what the user can check if the server refuses the authentication.
    """

    def handshake(connected: socket.socket, endpoint: Endpoint) -> Any:
        try:
            return TBinaryProtocol(  # type: ignore[no-untyped-call]
                _authenticated(connected, make_mechanism(endpoint))
            )
        except (TTransportException, SaslError) as error:
            raise MetastoreError(
                "METASTORE_AUTHENTICATION",
                f"the metastore {endpoint} could not be authenticated to ({error}): {advice}",
            ) from error

    return handshake


def _authenticated(connected: socket.socket, mechanism: Mechanism) -> TSaslClientTransport:
    transport = _Transport(connected, mechanism)
    transport.open()  # type: ignore[no-untyped-call]
    if not mechanism.is_complete:
        raise SaslError(f"the server ended {mechanism.name} before it had said who it is")
    return transport


class _Transport(TSaslClientTransport):
    """Transport that passes the server's last message of the handshake to the mechanism.

    With DIGEST-MD5, this message proves that the server knows the password.
    """

    def __init__(self, connected: socket.socket, mechanism: Mechanism) -> None:
        super().__init__(  # type: ignore[no-untyped-call]
            lambda: _Client(mechanism),
            mechanism.name,
            TSocket(sock=connected),  # type: ignore[no-untyped-call]
        )
        self._mechanism = mechanism

    def _recv_sasl_message(self) -> tuple[int, bytes]:
        status, payload = super()._recv_sasl_message()  # type: ignore[no-untyped-call]
        if status == self.COMPLETE and payload and not self._mechanism.is_complete:
            self._mechanism.respond(payload)
        return status, payload


def _gssapi() -> Any:
    try:
        import gssapi  # noqa: PLC0415 - an extra
    # The import fails with an OSError if the system has no Kerberos library.
    except (ImportError, OSError) as error:
        raise MetastoreError(
            "METASTORE_AUTHENTICATION",
            f"Kerberos needs the package gssapi ({error}): pip install 'acidsql[kerberos]', which "
            "needs a C compiler and the headers of krb5 (Debian, Ubuntu: apt install gcc "
            "libkrb5-dev)",
        ) from error
    return gssapi


class _Client:
    """Adapter that gives a mechanism the interface of Cyrus' library, as the transport expects."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._mechanism = mechanism
        self._error = ""

    def start(self, name: str) -> tuple[bool, str, bytes]:
        return True, name, self._mechanism.respond(None)

    def step(self, challenge: bytes) -> tuple[bool, bytes]:
        return True, self._mechanism.respond(challenge)

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True and the bytes to send; each protected message starts with its length."""
        if not self._mechanism.protects:
            return True, data
        try:
            wrapped = self._mechanism.wrap(data)
        except SaslError as error:
            return self._failed(error)
        return True, b"".join(_LENGTH.pack(len(part)) + part for part in wrapped)

    def decode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True and the content of a protected message that starts with its length."""
        try:
            return True, self._mechanism.unwrap(data[_LENGTH.size :])
        except SaslError as error:
            return self._failed(error)

    def getError(self) -> str:  # noqa: N802 - Cyrus' spelling
        return self._error

    def _failed(self, error: SaslError) -> tuple[bool, bytes]:
        self._error = str(error)
        return False, b""
