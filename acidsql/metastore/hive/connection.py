"""Connections to one of several metastore servers that share a database.

A call takes an idle connection, or opens a new one to the first server that answers. It tries the
server that answered last first. Two calls never use a connection at the same time, so any thread
may call.
"""

from __future__ import annotations

import logging
import re
import select
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_fixed
from thriftpy2.protocol import TCyBinaryProtocol
from thriftpy2.protocol.cybin import ProtocolError  # type: ignore[attr-defined] # of Cython
from thriftpy2.thrift import TApplicationException, TClient, TException
from thriftpy2.transport import TCyBufferedTransport, TSocket, TTransportException

from acidsql.errors import MetastoreError
from acidsql.limits import limits
from acidsql.metastore.hive.idl import hms

logger = logging.getLogger(__name__)

DEFAULT_PORT = 9083
# Errors of a server that lost the connection to its database. Hive's client tries again too
# (RetryingMetaStoreClient).
_STUMBLED = re.compile(r"JDO\w*Exception|TTransportException|TProtocolException")


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Address of a metastore server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


# Function that authenticates on a connected socket, and returns a Thrift protocol.
Handshake = Callable[[socket.socket, Endpoint], Any]


def parse_uris(text: str) -> tuple[Endpoint, ...]:
    """Parse the setting that names the metastore servers.

    Args:
        text: ``thrift://host:port``, several of them separated by commas. ``thrift://`` is optional
            from the second one on, and the port is optional if it is 9083.

    Raises:
        MetastoreError: METASTORE_URI.

    >>> parse_uris("thrift://a:9083,b")
    (Endpoint(host='a', port=9083), Endpoint(host='b', port=9083))
    """
    endpoints: list[Endpoint] = []
    for uri in (part.strip() for part in text.split(",")):
        parts = urlsplit(uri if "://" in uri or not endpoints else f"thrift://{uri}")
        try:
            host, port = parts.hostname, parts.port
        except ValueError:
            host = port = None
        if parts.scheme != "thrift" or not host or parts.path.strip("/"):
            raise MetastoreError(
                "METASTORE_URI",
                f"{uri!r} in {text!r} is not the address of a Hive Metastore: write "
                "thrift://host:port, several separated by commas",
            )
        endpoints.append(Endpoint(host, port or DEFAULT_PORT))
    return tuple(endpoints)


class ConnectionLostError(MetastoreError):
    """Error of a call that the server may or may not have executed, and that can be repeated.

    The connection broke after the call was sent, or the server lost its connection to its database.
    """


@dataclass(slots=True, kw_only=True)
class _Connection:
    client: TClient
    socket: socket.socket
    endpoint: Endpoint

    @property
    def usable(self) -> bool:
        """Return whether the connection is open: a server sends nothing without a call."""
        return not select.select([self.socket], [], [], 0)[0]

    def close(self) -> None:
        self.client.close()


class Connections:
    """Pool of connections to the servers of one metastore.

    Args:
        endpoints: servers that share a database, the preferred one first.
        user: user name that the client sends (``set_ugi``) to servers without authentication.
        timeout: seconds to wait for an answer.
        tls: SSL context, for servers that require TLS.
        handshake: authentication, for servers that require it; see ``sasl``.
    """

    def __init__(
        self,
        endpoints: Sequence[Endpoint],
        *,
        user: str,
        timeout: float,
        tls: ssl.SSLContext | None = None,
        handshake: Handshake | None = None,
    ) -> None:
        self._endpoints = list(endpoints)
        self._user = user
        self._timeout = timeout
        self._tls = tls
        self._handshake = handshake
        self._lock = threading.Lock()
        self._idle: list[_Connection] = []
        self._closed = False

    def with_timeout(self, seconds: float) -> Connections:
        """Return another pool for the same servers that waits at most ``seconds`` for an answer."""
        return Connections(
            self._endpoints,
            user=self._user,
            timeout=min(seconds, self._timeout),
            tls=self._tls,
            handshake=self._handshake,
        )

    def __repr__(self) -> str:
        return f"thrift://{','.join(map(str, self._endpoints))}"

    def call(self, method: str, *arguments: object, repeatable: bool = True) -> Any:
        """Call the server.

        Args:
            method: name of the call.
            arguments: arguments of the call.
            repeatable: whether to send the call again if the connection breaks before the answer,
                because two executions do no harm.

        Raises:
            MetastoreError: METASTORE_UNAVAILABLE, METASTORE_TIMEOUT, METASTORE_AUTHENTICATION;
                METASTORE_ERROR, the server failed; METASTORE_VERSION, the server does not have the
                call.
            TException: an exception that the IDL declares for the call, except MetaException.
        """

        def worth_repeating(error: BaseException) -> bool:
            return repeatable and isinstance(error, ConnectionLostError)

        attempts = Retrying(
            retry=retry_if_exception(worth_repeating),
            stop=stop_after_attempt(limits().connection_attempts),
            before_sleep=_log_retry,
            reraise=True,
        )
        return attempts(self._call_once, method, arguments)

    def close(self) -> None:
        """Close all connections."""
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for connection in idle:
            connection.close()

    def _call_once(self, method: str, arguments: Sequence[object]) -> Any:
        connection = self._take()
        try:
            answer = getattr(connection.client, method)(*arguments)
        except hms.MetaException as error:
            stumbled = _STUMBLED.search(error.message or "") is not None
            if stumbled:
                connection.close()  # the server may still use a broken database connection
            else:
                self._give_back(connection)
            raise (ConnectionLostError if stumbled else MetastoreError)(
                "METASTORE_ERROR",
                f"the metastore {connection.endpoint} refused {method}: {error.message}",
            ) from error
        except TApplicationException as error:
            if error.type == TApplicationException.UNKNOWN_METHOD:
                self._give_back(connection)  # the server has read the call completely
            else:
                connection.close()  # the server hangs up after some of these errors
            raise _server_error(method, connection.endpoint, error) from error
        except (TTransportException, ProtocolError, OSError, EOFError) as error:
            connection.close()
            raise self._lost(method, connection.endpoint, error) from error
        except TException:
            self._give_back(connection)
            raise
        except BaseException:
            connection.close()  # the answer may still arrive
            raise
        self._give_back(connection)
        return answer

    def _take(self) -> _Connection:
        while True:
            with self._lock:
                connection = self._idle.pop() if self._idle else None
            if connection is None:
                return self._connect()
            if connection.usable:
                return connection
            connection.close()

    def _give_back(self, connection: _Connection) -> None:
        with self._lock:
            keep = not self._closed and len(self._idle) < limits().idle_connections
            if keep:
                self._idle.append(connection)
        if not keep:
            connection.close()

    def _connect(self) -> _Connection:
        """Connect to the first reachable server; try all servers several times, with pauses."""
        rounds = Retrying(
            retry=retry_if_exception(lambda e: isinstance(e, _UnreachableError)),
            stop=stop_after_attempt(limits().connection_attempts),
            wait=wait_fixed(limits().attempt_pause_seconds),
            reraise=True,
        )
        return rounds(self._connect_to_any)

    def _connect_to_any(self) -> _Connection:
        with self._lock:
            candidates = list(self._endpoints)
        failures: list[MetastoreError] = []
        for endpoint in candidates:
            try:
                connection = self._connect_to(endpoint)
            except MetastoreError as error:
                failures.append(error)
                continue
            if endpoint != candidates[0]:
                logger.warning("metastore %s is used now: %s", endpoint, failures[0])
                with self._lock:
                    self._endpoints.remove(endpoint)
                    self._endpoints.insert(0, endpoint)
            return connection
        worst = next((e for e in failures if not isinstance(e, _UnreachableError)), None)
        if worst is not None:
            raise worst
        raise _UnreachableError(
            "METASTORE_UNAVAILABLE",
            f"no Hive Metastore can be reached ({'; '.join(e.message for e in failures)}): check "
            "spark.acidsql.metastore and that the server runs",
        )

    def _connect_to(self, endpoint: Endpoint) -> _Connection:
        try:
            plain = socket.create_connection(
                (endpoint.host, endpoint.port), limits().connect_seconds
            )
        except OSError as error:
            raise _UnreachableError("METASTORE_UNAVAILABLE", f"{endpoint}: {error}") from error
        with ExitStack() as opened:
            opened.enter_context(plain)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            plain.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
            plain.settimeout(self._timeout)
            with self._connection_errors(endpoint):
                # A TLS socket takes over the plain socket, and must itself be closed.
                connected = opened.enter_context(self._secured(plain, endpoint))
                client = self._greet(connected, endpoint)
            opened.pop_all()
        return _Connection(client=client, socket=connected, endpoint=endpoint)

    @contextmanager
    def _connection_errors(self, endpoint: Endpoint) -> Iterator[None]:
        """Convert errors of the block to ``MetastoreError``, while the server has not answered."""
        try:
            yield
        except TimeoutError as error:
            raise MetastoreError(
                "METASTORE_TIMEOUT",
                f"{endpoint} took the connection and did not answer within {self._timeout:g} s: "
                f"{self._silence}",
            ) from error
        except ssl.SSLError as error:
            raise _no_tls(endpoint, error) from error
        # A server that expects TLS, HTTP or SASL answers with bytes that are not Thrift.
        except (TTransportException, ProtocolError, OSError, EOFError) as error:
            raise MetastoreError(
                "METASTORE_AUTHENTICATION",
                f"{endpoint} refused the first call ({error}): it may want Kerberos (set "
                "spark.acidsql.metastore.kerberos.principal) or TLS "
                "(spark.acidsql.metastore.tls.enabled), or it is no Hive Metastore",
            ) from error

    def _secured(self, plain: socket.socket, endpoint: Endpoint) -> socket.socket:
        """Return a TLS socket if TLS is configured, otherwise the plain socket."""
        if self._tls is None:
            return plain
        return self._tls.wrap_socket(plain, server_hostname=endpoint.host)

    def _greet(self, connected: socket.socket, endpoint: Endpoint) -> TClient:
        """Authenticate with the handshake, or send the user name if there is no handshake.

        Hive's client also sends the user name with ``set_ugi`` (hive.metastore.execute.setugi).
        """
        if self._handshake is not None:
            return TClient(hms.ThriftHiveMetastore, self._handshake(connected, endpoint))
        transport = TCyBufferedTransport(TSocket(sock=connected))  # type: ignore[no-untyped-call]
        protocol = TCyBinaryProtocol(transport)  # type: ignore[no-untyped-call]
        client = TClient(hms.ThriftHiveMetastore, protocol)
        client.set_ugi(self._user, [])
        return client

    @property
    def _silence(self) -> str:
        """Possible reasons why a server accepts a connection and does not answer."""
        if self._handshake is None:
            return "it may be busy; see its log"
        return (
            "it may be busy, or want no Kerberos: then unset "
            "spark.acidsql.metastore.kerberos.principal and hive.metastore.sasl.enabled"
        )

    def _lost(self, method: str, endpoint: Endpoint, error: Exception) -> MetastoreError:
        if isinstance(error, TimeoutError):
            return MetastoreError(
                "METASTORE_TIMEOUT",
                f"the metastore {endpoint} did not answer {method} within {self._timeout:g} s: it "
                "may carry it out yet; see the server's log, or raise "
                "spark.acidsql.metastore.timeout",
            )
        return ConnectionLostError(
            "METASTORE_UNAVAILABLE",
            f"the connection to the metastore {endpoint} broke during {method} ({error}): it may "
            "have been carried out; run the statement again when the server is back",
        )


class _UnreachableError(MetastoreError):
    """Error of a server that cannot be connected to."""


def _no_tls(endpoint: Endpoint, error: ssl.SSLError) -> MetastoreError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return MetastoreError(
            "METASTORE_AUTHENTICATION",
            f"the certificate of the metastore {endpoint} is not trusted "
            f"({error.verify_message}): give the certificates of its authority by "
            "spark.acidsql.metastore.tls.caFile, and the server by the name in its certificate",
        )
    return MetastoreError(
        "METASTORE_AUTHENTICATION",
        f"{endpoint} cannot be spoken to by TLS ({error}): it may want none; then unset "
        "spark.acidsql.metastore.tls.enabled and hive.metastore.use.SSL",
    )


def _server_error(method: str, endpoint: Endpoint, error: TApplicationException) -> MetastoreError:
    if error.type == TApplicationException.UNKNOWN_METHOD:
        return MetastoreError(
            "METASTORE_VERSION",
            f"the metastore {endpoint} has no call {method}: Hive 3.1, 4.0 or 4.1 is needed",
        )
    return MetastoreError(
        "METASTORE_ERROR",
        f"the metastore {endpoint} failed in {method} ({error}): the reason is in the server's log",
    )


def _log_retry(state: RetryCallState) -> None:
    error = state.outcome.exception() if state.outcome else None
    logger.warning("metastore call is sent again: %s", error)
