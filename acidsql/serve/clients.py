"""Sessions of the servers' clients; each has separate settings and a separate transaction."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.session.acid_session import AcidSession
from acidsql.session.owner_thread import acting_for
from acidsql.transactions.retries import no_retries_after


class Client:
    """Session of a client.

    Its statements can run in any thread. If the client has begun a transaction, they belong to it.
    """

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self._lock = threading.Lock()
        self._running = 0
        self._has_left = threading.Event()

    def is_alive(self) -> bool:
        """Return whether the client can still end its transaction."""
        return not self._has_left.is_set()

    def run(self, text: str) -> DataFrame:
        """Run a statement."""
        with self.at_work():
            return api.run(self.spark, text, None, {})

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Run the statements of the block for this client."""
        with self._lock:
            self._running += 1
        try:
            with acting_for(self), no_retries_after(self._has_left):
                yield
        finally:
            with self._lock:
                self._running -= 1
            self._close_if_idle()

    def leave(self) -> None:
        """End the session; roll back its transaction when no statement is running."""
        self._has_left.set()
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        with self._lock:
            is_over = self._has_left.is_set() and not self._running
        if is_over and not bridge.is_stopped(self.spark):
            AcidSession.end(self.spark)


class Clients:
    """Clients of a server, by their sessions."""

    def __init__(self, spark: SparkSession) -> None:
        """Begin without clients.

        Args:
            spark: a session of the same application.
        """
        self._spark = spark
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()

    def of(self, session: bridge.JavaObject) -> Client:
        """Return the client of a Java session."""
        spark = bridge.session_of(self._spark, session)
        key = bridge.session_key(spark)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = Client(spark)
            return self._clients[key]

    def leave(self, session: bridge.JavaObject) -> None:
        """End a client's session."""
        key = bridge.session_key(bridge.session_of(self._spark, session))
        with self._lock:
            client = self._clients.pop(key, None)
        if client is not None:
            client.leave()
