"""Proxy before a metastore that breaks a connection at a chosen call."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from enum import Enum

_CHUNK = 65536
_CALL = b"\x80\x01\x00\x01"  # version and type of a message in Thrift's binary protocol
IN_BACKGROUND = frozenset({"heartbeat_txn_range", "set_ugi"})


class Cut(Enum):
    """Where a call is cut.

    BEFORE: the server never hears of it. ANSWER: the server has done it, and the answer is lost.
    """

    BEFORE = "before"
    ANSWER = "answer of"


class CallProxy:
    """Forwards calls to a server on loopback, and counts them.

    Attributes:
        port: its own.
        calls: names of the calls since ``arm``, but for a client's user name and heartbeats of
            several transactions, which have no fixed place.
        struck: name of the call that was cut, '' as long as none was.
    """

    def __init__(self, server_port: int) -> None:
        self._server_port = server_port
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self.port = 0
        self.arm()
        self.listen()

    @property
    def uri(self) -> str:
        return f"thrift://127.0.0.1:{self.port}"

    def arm(
        self,
        number: int | None = None,
        cut: Cut = Cut.BEFORE,
        then: Callable[[], object] = lambda: None,
    ) -> None:
        """Count from now on, and cut the call of a number, once.

        Args:
            number: of the call, from 0; None cuts none.
            cut: where.
            then: is called when it happens, before the client notices.
        """
        with self._lock:
            self.calls: list[str] = []
            self.struck = ""
            self._number, self._cut, self._then = number, cut, then

    def listen(self) -> None:
        """Take connections, on the same port as before."""
        self._listener = socket.create_server(("127.0.0.1", self.port))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def close(self) -> None:
        """Stop listening, and break every connection."""
        _shut(self._listener)
        self._listener.close()
        _shut(*self._sockets)

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                try:
                    server = socket.create_connection(("127.0.0.1", self._server_port))
                except OSError:
                    client.close()
                    continue
                self._sockets += [client, server]
                deaf = threading.Event()
                for work in (self._forward, self._answer):
                    threading.Thread(target=work, args=(client, server, deaf), daemon=True).start()

    def _forward(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while data := client.recv(_CHUNK):
                if self._is_cut(data):
                    if self._cut is Cut.BEFORE:
                        self._then()
                        break
                    deaf.set()
                server.sendall(data)
        if not deaf.is_set():
            _shut(client, server)

    def _answer(self, client: socket.socket, server: socket.socket, deaf: threading.Event) -> None:
        with suppress(OSError):
            while data := server.recv(_CHUNK):
                if deaf.is_set():
                    self._then()
                    break
                client.sendall(data)
        _shut(client, server)

    def _is_cut(self, data: bytes) -> bool:
        """Return whether a call begins with these bytes that is to be cut."""
        if not data.startswith(_CALL):
            return False  # more of a long call
        name = data[8 : 8 + int.from_bytes(data[4:8])].decode()
        if name in IN_BACKGROUND:
            return False
        with self._lock:
            self.calls.append(name)
            if self.struck or self._number != len(self.calls) - 1:
                return False
            self.struck = name
            return True


def _shut(*sockets: socket.socket) -> None:
    for one in sockets:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


@contextmanager
def counted(server_port: int) -> Iterator[CallProxy]:
    """Yield a proxy before a server."""
    proxy = CallProxy(server_port)
    try:
        yield proxy
    finally:
        proxy.close()
