"""``AcidSession``, the state of acidsql for a Spark session."""

from __future__ import annotations

import atexit
import logging
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import ClassVar
from weakref import WeakMethod, WeakSet

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidLookupError
from acidsql.limits import limits
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.protocol import Metastore
from acidsql.once import once_property
from acidsql.session.at_work import at_work
from acidsql.session.cached_relations import CachedRelations
from acidsql.session.heartbeat import Heartbeater
from acidsql.session.leases import Leases
from acidsql.session.process import check_process
from acidsql.session.settings import Settings, read_settings
from acidsql.session.temp_views import TempViews
from acidsql.storage.delete_files import EventCache
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.sync import SyncedFiles, make_directory
from acidsql.storage.tails import TailCache
from acidsql.syntax.literals import quoted_string

logger = logging.getLogger(__name__)


def _weakly(method: Callable[[], object]) -> Callable[[], object]:
    """Return a function that calls a method as long as other references to its object exist.

    If a thread held the object itself, an unreachable session would never be closed.
    """
    reference = WeakMethod(method)

    def call() -> None:
        bound = reference()
        if bound is not None:
            bound()

    return call


class AcidSession:
    """State of acidsql for a Spark session; ``AcidSession.of(spark)`` finds or creates it.

    ``close`` ends it. acidsql calls ``close`` after the application has stopped. It also does so
    when a later session is created, and Python no longer references this session, its DataFrames
    and its temporary views.

    Attributes:
        spark: separate handle of the Spark session, which the user does not have.
        settings: settings at the time when the session was created.
        user: Hadoop's user.
        host: name of this host.
        metastore: metastore of the session.
        files: Hadoop's file systems.
        tails: cache of ORC tails, which the sessions of a process share.
        delete_events: cache of delete events, which the sessions of a process share.
        heartbeater: sends heartbeats for the open transactions.
        leases: leases of the returned DataFrames.
        temp_views: temporary views over ACID tables.
        cached_relations: relations of CACHE TABLE.
        learnt_places: directories of tables and partitions with write ids that were compared with
            the metastore.
        owned_places: directories of tables that are known to belong to this metastore.
        has_written: whether a transaction has ended since the background thread was last woken.
        wake_compactor: wakes the session's background thread; None before the first time.
        interrupted: set when a compaction in the background thread must end.
        at_close: callbacks that ``close`` runs first.
        end_transactions: rolls back the open transactions of several statements.
        open_sessions: sessions of this process, by the key of their Spark session.
    """

    open_sessions: ClassVar[dict[str, AcidSession]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, spark: SparkSession) -> None:
        bridge.warn_if_untried(spark.version)
        bridge.send_answers_at_once(spark)
        self._process = os.getpid()
        self.spark = _other_handle(spark)
        # The user's handles of the same session.
        self._handles: WeakSet[SparkSession] = WeakSet()
        self._statements = 0  # number of running statements
        self.settings = read_settings(self.spark)
        self.user = bridge.hadoop_user(spark)
        self.host = socket.gethostname()
        self.files = FileSystem(
            self.spark,
            synchronous=self.settings.synchronous,
            object_stores=self.settings.object_stores,
        )
        self.metastore = _open_metastore(self.settings, self.user, self.files)
        self._make_caches(next(iter(self.open_sessions.values()), None))
        self.heartbeater = Heartbeater(self.metastore)
        self.leases = Leases(
            self.spark, self.metastore, self.heartbeater, max_age=self.settings.snapshot_max_age
        )
        self.heartbeater.look = _weakly(self.look)
        self.temp_views = TempViews(self.spark)
        self.cached_relations = CachedRelations(self.leases.max_age)
        self.learnt_places: set[str] = set()
        self.owned_places: set[str] = set()
        self.has_written = False
        self.wake_compactor: Callable[[], None] | None = None
        self.interrupted = threading.Event()
        self.at_close = ExitStack()
        self.end_transactions: Callable[[], object] = _nothing
        if not self.metastore.capabilities.has_other_clients:
            for name in self.metastore.databases():
                mirror_database(self, name)
        # Otherwise the leases of an ended process would block cleaners until their time-out.
        atexit.register(self.close)

    @classmethod
    def of(cls, spark: SparkSession) -> AcidSession:
        """Return the ``AcidSession`` of a Spark session; create it if necessary.

        Raises:
            AcidAnalysisError: SESSION_OF_ANOTHER_PROCESS, this is a forked child.
        """
        check_process(spark)
        key = bridge.session_key(spark)
        with cls._lock, at_work():
            if key not in cls.open_sessions:
                cls._close_others(spark.sparkContext.applicationId)
                cls._close_unreachable()
                cls.open_sessions[key] = cls(spark)
            session = cls.open_sessions[key]
            if spark is not session.spark:
                session._handles.add(spark)
            return session

    @classmethod
    def end(cls, spark: SparkSession) -> None:
        """Close the ``AcidSession`` of a Spark session, if it has one."""
        with cls._lock:
            session = cls.open_sessions.get(bridge.session_key(spark))
        if session is not None:
            session.close()

    @classmethod
    @contextmanager
    def using(cls, spark: SparkSession) -> Iterator[AcidSession]:
        """Keep the ``AcidSession`` of a Spark session open during a block, even if unreferenced."""
        with cls._lock:
            session = cls.of(spark)
            session._statements += 1
        try:
            session.heartbeater.abort_failed()
            yield session
        finally:
            with cls._lock:
                session._statements -= 1

    @classmethod
    def _close_others(cls, application: str) -> None:
        """Close the sessions of other Spark applications, which this process has stopped."""
        for key, session in list(cls.open_sessions.items()):
            if not key.startswith(f"{application}/"):
                session.close()

    @classmethod
    def _close_unreachable(cls) -> None:
        """Close the sessions that no program can use any more."""
        for session in list(cls.open_sessions.values()):
            if session._handles or session._statements:
                continue
            session.leases.prune()
            session.temp_views.forget_dropped()
            if not len(session.leases) and not len(session.temp_views):
                session.close()

    def _make_caches(self, other: AcidSession | None) -> None:
        """Create the caches of file contents, or share the caches of another session.

        Without sharing, each session would read the files that all other sessions have written.
        """
        if other is None:
            self.tails = TailCache(self.files, limits().cached_tails)
            self.delete_events = EventCache(self.files, limits().cached_event_bytes)
        else:
            self.tails = other.tails.shared_with(self.files)
            self.delete_events = other.delete_events.shared_with(self.files)

    @once_property
    def jvm_time_zone(self) -> str:
        """Time zone that Spark's ORC reader and writer use for local times."""
        return bridge.jvm_time_zone(self.spark)

    @property
    def time_zone(self) -> str:
        """Session's current time zone, which a statement uses for local times in files."""
        return bridge.session_time_zone(self.spark)

    @property
    def warehouse(self) -> str:
        """Qualified path of the warehouse directory."""
        return self.files.qualify(str(self.spark.conf.get("spark.sql.warehouse.dir")))

    def database_location(self, database: str) -> str:
        """Return the directory of a database, which contains its tables without a LOCATION.

        Raises:
            AcidLookupError: there is no such database.
        """
        if database == "default" and not self.metastore.capabilities.chooses_locations:
            return self.warehouse
        return self.metastore.database_location(database) or child(self.warehouse, f"{database}.db")

    def has_database(self, name: str) -> bool:
        """Return whether the metastore has a database."""
        try:
            self.metastore.database_location(name)
        except AcidLookupError:
            return False
        return True

    @property
    def is_ending(self) -> bool:
        """Whether background work must end, which is not a failure."""
        return self.interrupted.is_set() or bridge.is_stopped(self.spark)

    @classmethod
    def end_without_jvm(cls, spark: SparkSession) -> bool:
        """End the transactions of a Spark session if its JVM has died; return whether it has died.

        The operating system may kill the JVM if memory is short. The locks of its transactions
        would stay as long as the Python process lives, because this process sends the heartbeats.
        """
        if bridge.has_jvm(spark):
            return False
        with cls._lock:
            sessions = [
                s for s in cls.open_sessions.values() if spark in s._handles or spark is s.spark
            ]
        for session in sessions:
            session._end_without_jvm()
        return True

    def _end_without_jvm(self) -> None:
        logger.error("the JVM of a session has ended: its transactions are rolled back")
        self.end_transactions()
        self.leases.close()

    def look(self) -> None:
        """Maintain the transactions, in the thread that sends heartbeats."""
        if bridge.has_jvm(self.spark):
            self.leases.prune_for_cleaners()
        elif self.heartbeater.is_needed:
            self._end_without_jvm()

    def close(self) -> None:
        """Release the leases, stop the heartbeats, close the metastore and clear the caches.

        A forked child does nothing, because the transactions and the JVM belong to its parent.
        """
        atexit.unregister(self.close)
        if os.getpid() == self._process:
            self.at_close.close()
        with self._lock:
            for key, session in list(self.open_sessions.items()):
                if session is self:
                    del self.open_sessions[key]
        if os.getpid() != self._process:
            return
        self.leases.close()
        self.heartbeater.stop()
        self.heartbeater.abort_failed()
        self.metastore.close()
        with self._lock:
            left = {session.spark.sparkContext for session in self.open_sessions.values()}
        for owner in {self, self.spark, self.spark.sparkContext, *self._handles} - left:
            bridge.JvmCache.clear(owner)


def _nothing() -> None:
    """Do nothing."""


def _other_handle(spark: SparkSession) -> SparkSession:
    """Return another Python object for a Spark session, which does not reference the given one."""
    handle = SparkSession.__new__(type(spark))
    handle.__dict__.update(spark.__dict__)
    return handle


def _open_metastore(settings: Settings, user: str, files: FileSystem) -> Metastore:
    if settings.is_served:
        # Imported here because the Thrift interface takes a moment to load.
        from acidsql.metastore.hive import connect  # noqa: PLC0415

        return connect(
            settings.metastore,
            user=user,
            timeout=settings.metastore_timeout,
            kerberos=settings.kerberos,
            tls=settings.tls,
            files=SyncedFiles(files),
        )
    make_directory(files, f"file:{Path(settings.metastore).absolute().parent}")
    return EmbeddedMetastore(
        settings.metastore,
        txn_timeout=settings.txn_timeout,
        synchronous=settings.synchronous,
        history_entries=settings.history_entries,
        files=SyncedFiles(files),
    )


def mirror_database(session: AcidSession, name: str, comment: str | None = None) -> None:
    """Create a database of the metastore in Spark's own catalog, unless it already exists."""
    if not session.spark.catalog.databaseExists(f"spark_catalog.`{name}`"):
        location = quoted_string(session.database_location(name))
        comment_clause = f"COMMENT {quoted_string(comment)}" if comment else ""
        session.spark.sql(
            f"CREATE DATABASE IF NOT EXISTS `{name}` {comment_clause} LOCATION {location}"
        )
