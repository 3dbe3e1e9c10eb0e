"""Proxies between a client and a server: connections that break, and one that authenticates."""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

_CHUNK = 65536
_POLL_SECONDS = 0.05


class Proxy:
    """Forwards to a server on loopback, on a port of its own.

    Attributes:
        cuts_answer: name of a call whose answer never arrives, once; the connection breaks instead.
        cuts_call: name of a call that never arrives at the server, as long as it is set.
        delays: whether answers are held back, for as long as that is so.
        calls: the calls that were cut.
        sent: all that clients sent.
        connections: number of those that clients made.
    """

    def __init__(self, port: int) -> None:
        self._server_port = port
        self.cuts_answer = self.cuts_call = ""
        self.delays = False
        self.calls: list[str] = []
        self.sent = bytearray()
        self.connections = 0
        self._sockets: list[socket.socket] = []
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def close(self) -> None:
        """Stop listening, and break every connection."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.break_connections()

    def break_connections(self) -> None:
        """Break every connection; new ones may come."""
        for one in self._sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._sockets.clear()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(("127.0.0.1", self._server_port))
                self._sockets += [client, server]
                mute = threading.Event()
                for work in (self._forward, self._answer):
                    threading.Thread(target=work, args=(client, server, mute), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(_CHUNK):
                self.sent += data
                if self._names(data, self.cuts_call):
                    break
                if self._names(data, self.cuts_answer):
                    self.cuts_answer = ""
                    mute.set()
                server.sendall(data)
        self._break(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, mute: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK):
                if mute.is_set():
                    break
                while self.delays:
                    time.sleep(_POLL_SECONDS)
                client.sendall(data)
        self._break(client, server)

    def _names(self, data: bytes, call: str) -> bool:
        found = bool(call) and struct.pack(">i", len(call)) + call.encode() in data
        if found:
            self.calls.append(call)
        return found

    @staticmethod
    def _break(*both: socket.socket) -> None:
        for one in both:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def proxied(port: int) -> Iterator[Proxy]:
    """Yield a proxy before a server."""
    proxy = Proxy(port)
    try:
        yield proxy
    finally:
        proxy.close()


@contextmanager
def sasl_plain(port: int, knows: Callable[[str, str], bool]) -> Iterator[int]:
    """Yield the port of a proxy that authenticates by SASL's PLAIN and frames what follows.

    Args:
        port: port of the server, which does neither.
        knows: returns whether a user has this password.
    """
    listener = socket.create_server(("127.0.0.1", 0))
    sockets: list[socket.socket] = [listener]

    def accept() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                sockets.append(client)
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    def serve(client: socket.socket) -> None:
        with suppress(OSError, EOFError):
            _, mechanism = _message(client)
            _, response = _message(client)
            _, user, password = response.decode().split("\0")
            if mechanism != b"PLAIN" or not knows(user, password):
                client.sendall(struct.pack(">BI", _BAD, 7) + b"refused")
                client.close()
                return
            client.sendall(struct.pack(">BI", _COMPLETE, 0))
            server = socket.create_connection(("127.0.0.1", port))
            sockets.append(server)
            threading.Thread(target=frame, args=(server, client), daemon=True).start()
            while True:
                (length,) = struct.unpack(">I", _exactly(client, 4))
                server.sendall(_exactly(client, length))

    def frame(server: socket.socket, client: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK):
                client.sendall(struct.pack(">I", len(data)) + data)

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield int(listener.getsockname()[1])
    finally:
        Proxy._break(*sockets)
        for one in sockets:
            one.close()


_BAD, _COMPLETE = 3, 5


def _message(connection: socket.socket) -> tuple[int, bytes]:
    status, length = struct.unpack(">BI", _exactly(connection, 5))
    return status, _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        more = connection.recv(count - len(data))
        if not more:
            raise EOFError
        data += more
    return data
