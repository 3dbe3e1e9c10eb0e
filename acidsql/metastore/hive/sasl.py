"""Authentication to a metastore by SASL, as in Hadoop's servers (HadoopThriftAuthBridge).

Kerberos needs the extra ``acidsql[kerberos]`` and a ticket (``kinit``).
"""

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
from acidsql.metastore.kerberos import Kerberos

_LENGTH = struct.Struct(">I")


def kerberos_handshake(kerberos: Kerberos) -> Handshake:
    """Return a handshake that authenticates with the user's Kerberos ticket.

    Raises:
        MetastoreError: METASTORE_AUTHENTICATION, by the handshake.
    """

    def client(endpoint: Endpoint) -> Any:
        puresasl = _puresasl()
        host = kerberos.host_of(endpoint.host)
        return puresasl.SASLClient(host, service=kerberos.service, mechanism="GSSAPI")

    return sasl_handshake("GSSAPI", client)


def sasl_handshake(mechanism: str, make_client: Callable[[Endpoint], Any]) -> Handshake:
    """Return a handshake by a mechanism of SASL.

    Args:
        mechanism: its name.
        make_client: makes a ``puresasl.client.SASLClient`` for a server.
    """

    def handshake(connected: socket.socket, endpoint: Endpoint) -> Any:
        def factory() -> _Client:
            return _Client(make_client(endpoint), mechanism)

        plain = TSocket(sock=connected)  # type: ignore[no-untyped-call]
        transport = TSaslClientTransport(factory, mechanism, plain)  # type: ignore[no-untyped-call]
        try:
            transport.open()  # type: ignore[no-untyped-call]
        except TTransportException as error:
            raise _refused(endpoint, mechanism, error) from error
        # The mechanisms, and the Kerberos library below them, raise exceptions of many types.
        except Exception as error:
            if isinstance(error, MetastoreError | OSError):
                raise
            raise _refused(endpoint, mechanism, error) from error
        return TBinaryProtocol(transport)  # type: ignore[no-untyped-call]

    return handshake


def _refused(endpoint: Endpoint, mechanism: str, error: Exception) -> MetastoreError:
    return MetastoreError(
        "METASTORE_AUTHENTICATION",
        f"the metastore {endpoint} could not be authenticated to by {mechanism} ({error}): check "
        "that you have a ticket (klist), and that "
        "spark.acidsql.metastore.kerberos.principal is the server's",
    )


def _puresasl() -> Any:
    try:
        import kerberos  # noqa: F401, PLC0415 - an extra
        import puresasl.client  # noqa: PLC0415
    except ImportError as error:
        raise MetastoreError(
            "METASTORE_AUTHENTICATION",
            f"Kerberos needs packages that are not installed ({error.name}): pip install "
            "'acidsql[kerberos]', which needs the headers of krb5",
        ) from error
    return puresasl.client


class _Client:
    """Adapter that gives a ``SASLClient`` the interface of Cyrus' library, as the transport expects
    it.
    """

    def __init__(self, client: Any, mechanism: str) -> None:
        self._client = client
        self._mechanism = mechanism

    def start(self, mechanism: str) -> tuple[bool, str, bytes]:
        return True, mechanism, self._client.process()

    def step(self, challenge: bytes) -> tuple[bool, bytes]:
        return True, self._client.process(challenge)

    def encode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True and the bytes to send, with their length before them if protected."""
        if not self._protects:
            return True, data
        wrapped = self._client.wrap(data)
        return True, _LENGTH.pack(len(wrapped)) + wrapped

    def decode(self, data: bytes) -> tuple[bool, bytes]:
        """Return True and the bytes that were sent, without the length before them."""
        return True, self._client.unwrap(data[_LENGTH.size :])

    def getError(self) -> str:  # noqa: N802 - Cyrus' spelling
        return f"{self._mechanism} failed"

    @property
    def _protects(self) -> bool:
        return self._mechanism == "GSSAPI" and self._client.qop != b"auth"
