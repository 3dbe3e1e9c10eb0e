"""What acidsql keeps per Spark session: the metastore, the file system, leases, settings."""

from __future__ import annotations

import atexit
import socket
import threading
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import ClassVar

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidLookupError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.protocol import Metastore
from acidsql.schema.columns import literal
from acidsql.session.at_work import at_work
from acidsql.session.heartbeat import Heartbeater
from acidsql.session.leases import Leases
from acidsql.session.settings import Settings, read_settings
from acidsql.session.temp_views import TempViews
from acidsql.storage.delete_files import EventCache
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.lru_cache import LruCache
from acidsql.storage.tails import TailCache


class AcidSession:
    """acidsql's side of one Spark session; ``AcidSession.of(spark)`` finds or makes it."""

    _sessions: ClassVar[dict[str, AcidSession]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, spark: SparkSession) -> None:
        bridge.warn_if_untried(spark.version)
        self.spark = spark
        self.settings = read_settings(spark)
        self.user = bridge.hadoop_user(spark)
        self.host = socket.gethostname()
        self.metastore = _open_metastore(self.settings, self.user)
        self.files = FileSystem(spark)
        self.tails = TailCache(self.files)
        self.delete_events = EventCache(self.files)
        self.delete_filters: LruCache[
            Callable[[bridge.UnresolvedPlan], bridge.UnresolvedPlan] | None
        ] = LruCache(4)
        self.heartbeater = Heartbeater(self.metastore)
        self.leases = Leases(
            spark, self.metastore, self.heartbeater, max_age=self.settings.snapshot_max_age
        )
        self.temp_views = TempViews(spark)
        # The zone whose wall clocks Hive is to read. A later SET TIME ZONE changes how instants are
        # parsed and printed, as in Spark, not which instants the tables hold.
        self.time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
        if not self.metastore.capabilities.has_other_clients:
            for name in self.metastore.databases():
                mirror_database(self, name)
        # Readers that are gone must not hold cleaners back until their time-out.
        atexit.register(self.close)

    @classmethod
    def of(cls, spark: SparkSession) -> AcidSession:
        """The AcidSession of a Spark session."""
        key = f"{spark.sparkContext.applicationId}/{spark._jsparkSession.sessionUUID()}"
        with cls._lock, at_work():
            if key not in cls._sessions:
                cls._close_others(spark.sparkContext.applicationId)
                cls._sessions[key] = cls(spark)
            return cls._sessions[key]

    @classmethod
    def _close_others(cls, application: str) -> None:
        """Close the sessions of Spark applications that this process has stopped."""
        for key, session in list(cls._sessions.items()):
            if not key.startswith(f"{application}/"):
                session.close()

    @cached_property
    def jvm_time_zone(self) -> str:
        """The zone of the wall clocks that Spark's ORC reader and writer use."""
        return bridge.jvm_time_zone(self.spark)

    @property
    def warehouse(self) -> str:
        """Qualified path of the warehouse directory."""
        return self.files.qualify(str(self.spark.conf.get("spark.sql.warehouse.dir")))

    def database_location(self, database: str) -> str:
        """Where the tables of a database lie unless they say otherwise."""
        if database == "default" and not self.metastore.capabilities.chooses_locations:
            return self.warehouse
        return self.metastore.database_location(database) or child(self.warehouse, f"{database}.db")

    def has_database(self, name: str) -> bool:
        """Whether the metastore has a database."""
        try:
            self.metastore.database_location(name)
        except AcidLookupError:
            return False
        return True

    def close(self) -> None:
        """Release leases, stop heartbeats, close the metastore, forget what was looked up."""
        atexit.unregister(self.close)
        self.leases.release()
        self.heartbeater.stop()
        self.metastore.close()
        with self._lock:
            for key, session in list(self._sessions.items()):
                if session is self:
                    del self._sessions[key]
            left = {session.spark.sparkContext for session in self._sessions.values()}
        for owner in {self, self.spark, self.spark.sparkContext} - left:
            bridge.JvmCache.clear(owner)


def _open_metastore(settings: Settings, user: str) -> Metastore:
    if settings.is_served:
        # Imported where it is needed: its interface takes a moment to load.
        from acidsql.metastore.hive import connect  # noqa: PLC0415

        return connect(
            settings.metastore,
            user=user,
            timeout=settings.metastore_timeout,
            kerberos=settings.kerberos,
        )
    Path(settings.metastore).parent.mkdir(parents=True, exist_ok=True)
    return EmbeddedMetastore(settings.metastore, txn_timeout=settings.txn_timeout)


def mirror_database(session: AcidSession, name: str, comment: str | None = None) -> None:
    """Make a database of the metastore known to Spark's own catalog."""
    if not session.spark.catalog.databaseExists(f"spark_catalog.`{name}`"):
        location = literal(session.database_location(name))
        said = f"COMMENT {literal(comment)}" if comment else ""
        session.spark.sql(f"CREATE DATABASE IF NOT EXISTS `{name}` {said} LOCATION {location}")
