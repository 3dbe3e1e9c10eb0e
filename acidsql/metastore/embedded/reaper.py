"""Abort of the transactions of clients that have ended or sent no heartbeat for too long."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeVar

from acidsql.errors import MetastoreError
from acidsql.metastore.embedded import commit_abort, transactions
from acidsql.metastore.embedded.client_lock import ClientLock
from acidsql.metastore.embedded.database import Database

_Begun = TypeVar("_Begun")


class Reaper:
    """Reaper of one client of a metastore file.

    It holds the lock that shows the other clients whether this client still runs.

    Args:
        database: the metastore's file.
        timeout: seconds without a heartbeat after which a transaction is aborted.
        clock: returns seconds since 1970.
    """

    def __init__(self, database: Database, timeout: float, clock: Callable[[], float]) -> None:
        self.timeout = timeout
        self._database = database
        self._clock = clock
        self._lock = ClientLock(database.path)
        self._has_tidied = False  # whether it has deleted the lock files of ended clients

    def reap(self) -> tuple[int, ...]:
        """Abort expired transactions (``Metastore.reap``)."""
        with self._database.write() as connection:
            return self._reap(connection)

    def reap_expired(self) -> None:
        """Abort expired transactions; do not write if there are none."""
        with self._database.read() as connection:
            ended = self._ended(connection)
            expired = commit_abort.expired(connection, self._clock() - self.timeout, ended)
        if expired:
            self.reap()

    def begin(self, begin: Callable[[sqlite3.Connection, float, str], _Begun]) -> _Begun:
        """Abort expired transactions, and open new ones in the same SQLite transaction.

        Args:
            begin: opens transactions, given the time and this client's name; this method returns
                its result.
        """
        with self._database.write() as connection:
            self._reap(connection)
            begun = begin(connection, self._clock(), self._lock.name())
        if not self._has_tidied:
            self._has_tidied = True
            with self._database.read() as connection:
                self._lock.forget_ended(transactions.clients_at_work(connection))
        return begun

    def name(self) -> str:
        """Return the name of this client (``ClientLock.name``)."""
        return self._lock.name()

    def close(self) -> None:
        """Let other clients abort the open transactions of this client."""
        if not self._lock.is_held:
            return
        try:
            with self._database.read() as connection:
                is_idle = self._lock.name() not in transactions.clients_at_work(connection)
        except MetastoreError:
            is_idle = False  # the next client determines it
        self._lock.release(forget=is_idle)

    def _reap(self, connection: sqlite3.Connection) -> tuple[int, ...]:
        return commit_abort.reap(connection, self.timeout, self._clock(), self._ended(connection))

    def _ended(self, connection: sqlite3.Connection) -> frozenset[str]:
        return frozenset(filter(self._lock.has_ended, transactions.clients_at_work(connection)))
