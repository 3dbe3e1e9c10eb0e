"""SQLite file as a transactional store that several threads and processes share.

Each process has one connection per ``Database``, used by one thread at a time. Transactions that
write take SQLite's write lock when they start (BEGIN IMMEDIATE), so the rows that they read cannot
change before they write. They are durable when they return (WAL, synchronous FULL), unless the user
switches that off. The file must be on a local disk, because SQLite's WAL needs shared memory.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from acidsql.deferred_signals import DeferredSignals
from acidsql.errors import AcidSqlError, MetastoreError
from acidsql.limits import limits
from acidsql.metastore.embedded import schema
from acidsql.metastore.embedded.mounts import network_type


class Database:
    """Connection of a process to one metastore file.

    Args:
        path: the file; it and its directory are created if they do not exist.
        synchronous: whether a transaction that writes is durable when it returns.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE or METASTORE_VERSION, the file cannot be used;
            METASTORE_NOT_LOCAL, the file is on a network disk;
            METASTORE_BUSY, other processes held its write lock for ``sqlite_busy_seconds``.
    """

    def __init__(self, path: str, *, synchronous: bool = True) -> None:
        self.path = path
        self._synchronous = synchronous
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._closed = False
        network = network_type(Path(path))
        if network is not None:
            raise MetastoreError(
                "METASTORE_NOT_LOCAL",
                f"the metastore file {path!r} is on a file system of type {network} that other "
                "machines share, where SQLite would damage it: set spark.acidsql.metastore to a "
                "file on a local disk, or use a Hive Metastore",
            )
        try:
            Path(path).parent.mkdir(parents=True, exist_ok=True)
        except OSError as err:
            raise MetastoreError(
                "METASTORE_UNAVAILABLE",
                f"the directory of the metastore file {path!r} cannot be created: {err}",
            ) from err
        with self.read():
            _databases.add(self)

    @contextmanager
    def read(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that reads one consistent state."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def write(self) -> Iterator[sqlite3.Connection]:
        """Run a transaction that holds the write lock; an exception rolls it back.

        The transaction is durable at the end if the database is synchronous.
        """
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    def close(self) -> None:
        """Close the connection; further use raises ``MetastoreError``."""
        with self._lock:
            self._closed = True
            self._disconnect()

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        # Defer signals first. A signal handler that ran between two of the steps below would leave
        # SQLite's write lock or this process's lock behind.
        with DeferredSignals(), self._lock:
            try:
                connection = self._connect()
                with schema.transaction(connection, begin):
                    yield connection
            except sqlite3.Error as err:
                raise _metastore_error(self.path, err) from err
            except (TypeError, ValueError, LookupError) as err:
                if isinstance(err, AcidSqlError) or (damage := self._damage()) is None:
                    raise
                raise MetastoreError(
                    "METASTORE_UNAVAILABLE",
                    f"the metastore file {self.path!r} is damaged: {damage}; restore a copy of it",
                ) from err

    def _damage(self) -> str | None:
        """Return the damage that SQLite finds in the file, or None."""
        if self._connection is None:
            return None
        try:
            report = self._connection.execute("PRAGMA quick_check(1)").fetchone()[0]
        except sqlite3.Error as err:
            return str(err)
        return None if report == "ok" else str(report)

    def _connect(self) -> sqlite3.Connection:
        if self._closed:
            raise MetastoreError(
                "METASTORE_UNAVAILABLE",
                f"the metastore {self.path!r} was closed; open it again",
            )
        if self._connection is None:
            self._connection = _open(self.path, synchronous=self._synchronous)
        return self._connection

    def _disconnect(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()

    def _before_fork(self) -> None:
        self._lock.acquire()
        self._disconnect()

    def _after_fork_in_parent(self) -> None:
        self._lock.release()

    def _after_fork_in_child(self) -> None:
        self._lock = threading.RLock()


# SQLite's name for a database without a file.
_IN_MEMORY = ":memory:"


def make_private(path: str | Path) -> None:
    """Create a file that only its owner may read, unless the file exists.

    SQLite gives the same permissions to its log next to the file. The file contains the texts of
    statements with their values, which not every user may read.
    """
    if path == _IN_MEMORY:
        return  # _use_wal refuses it
    # If no file can be created, SQLite reports the reason.
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _open(path: str, *, synchronous: bool) -> sqlite3.Connection:
    make_private(path)
    connection = sqlite3.connect(
        path,
        timeout=limits().sqlite_busy_seconds,
        isolation_level=None,
        # Several threads use the connection, one at a time under the lock of Database.
        check_same_thread=False,
    )
    try:
        connection.row_factory = sqlite3.Row
        _use_wal(connection, path)
        connection.execute(f"PRAGMA synchronous = {'FULL' if synchronous else 'OFF'}")
        connection.execute("PRAGMA foreign_keys = ON")
        schema.prepare(connection, path)
    except BaseException:
        connection.close()
        raise
    return connection


def _use_wal(connection: sqlite3.Connection, path: str) -> None:
    mode = connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
    if mode != "wal":
        raise MetastoreError(
            "METASTORE_UNAVAILABLE",
            f"the metastore file {path!r} cannot be used in SQLite's WAL mode (it is in mode "
            f"{mode!r}); put it on a local disk",
        )


def _metastore_error(path: str, err: sqlite3.Error) -> MetastoreError:
    # Errors of the sqlite3 module itself have no code. The low byte of SQLite's code is the kind.
    kind = getattr(err, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
        return MetastoreError(
            "METASTORE_BUSY",
            f"other processes kept the metastore file {path!r} locked for "
            f"{limits().sqlite_busy_seconds:g} s; run the statement again",
        )
    return MetastoreError(
        "METASTORE_UNAVAILABLE",
        f"the metastore file {path!r} cannot be used: {err}; "
        "check the file, its permissions and the free space of its disk",
    )


# SQLite keeps a list of a process's file locks in memory. A forked child inherits the list without
# the locks. Therefore no connection may be open across a fork, and parent and child connect again.
_databases: weakref.WeakSet[Database] = weakref.WeakSet()
_forking: list[Database] = []


def _before_fork() -> None:
    _forking.extend(_databases)
    for database in _forking:
        database._before_fork()


def _after_fork_in_parent() -> None:
    while _forking:
        _forking.pop()._after_fork_in_parent()


def _after_fork_in_child() -> None:
    while _forking:
        _forking.pop()._after_fork_in_child()


os.register_at_fork(
    before=_before_fork,
    after_in_parent=_after_fork_in_parent,
    after_in_child=_after_fork_in_child,
)
