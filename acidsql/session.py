"""What acidsql keeps per Spark session: the metastore, the file system, leases, settings."""

from __future__ import annotations

import atexit
import getpass
import socket
import threading
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlparse

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.errors import AcidAnalysisError
from acidsql.metastore.embedded import EmbeddedMetastore
from acidsql.metastore.heartbeat import Heartbeater
from acidsql.metastore.protocol import Metastore
from acidsql.scan.leases import Leases
from acidsql.schema import literal
from acidsql.storage.filesystem import FileSystem, child
from acidsql.storage.tails import TailCache
from acidsql.views import TempViews

_METASTORE_FILE = "acidsql_metastore.sqlite"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings, read from the Spark session's configuration once, when it is first used.

    Attributes:
        metastore: ``spark.acidsql.metastore``: path of the embedded metastore's SQLite file, on a
            local disk.
        lock_timeout: ``spark.acidsql.lock.timeout``: seconds to wait for locks.
        txn_timeout: ``spark.acidsql.txn.timeout``: seconds without a heartbeat until a transaction
            is aborted.
        snapshot_max_age: ``spark.acidsql.snapshot.maxAge``: seconds that a returned DataFrame may
            be read.
    """

    metastore: str
    lock_timeout: float
    txn_timeout: float
    snapshot_max_age: float


def _seconds(spark: SparkSession, key: str, default: float) -> float:
    text = str(spark.conf.get(key, str(default)))
    try:
        return float(text.removesuffix("s"))
    except ValueError as err:
        raise AcidAnalysisError(
            "INVALID_CONF_VALUE", f"{key} is {text!r}: give a number of seconds"
        ) from err


def _default_metastore(spark: SparkSession) -> str:
    """Beside the warehouse directory."""
    warehouse = urlparse(str(spark.conf.get("spark.sql.warehouse.dir")))
    if warehouse.scheme not in ("", "file"):
        raise AcidAnalysisError(
            "METASTORE_PATH_NEEDED",
            f"the warehouse {warehouse.geturl()} is not on a local disk: set "
            f"spark.acidsql.metastore to the "
            "path of a SQLite file on one",
        )
    return str(Path(warehouse.path).parent / _METASTORE_FILE)


def _read_settings(spark: SparkSession) -> Settings:
    place = str(spark.conf.get("spark.acidsql.metastore", "")) or _default_metastore(spark)
    parsed = urlparse(place)
    if parsed.scheme not in ("", "file"):
        raise AcidAnalysisError(
            "UNSUPPORTED_METASTORE",
            f"spark.acidsql.metastore is {place!r}: only the path of a local SQLite file is "
            f"supported",
        )
    return Settings(
        metastore=parsed.path,
        lock_timeout=_seconds(spark, "spark.acidsql.lock.timeout", 300.0),
        txn_timeout=_seconds(spark, "spark.acidsql.txn.timeout", 300.0),
        snapshot_max_age=_seconds(spark, "spark.acidsql.snapshot.maxAge", 86_400.0),
    )


class AcidSession:
    """acidsql's side of one Spark session; ``AcidSession.of(spark)`` finds or makes it."""

    _sessions: ClassVar[dict[str, AcidSession]] = {}
    _lock: ClassVar[threading.RLock] = threading.RLock()

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        self.settings = _read_settings(spark)
        Path(self.settings.metastore).parent.mkdir(parents=True, exist_ok=True)
        self.metastore: Metastore = EmbeddedMetastore(
            self.settings.metastore, txn_timeout=self.settings.txn_timeout
        )
        self.files = FileSystem(spark)
        self.tails = TailCache(self.files)
        self.heartbeater = Heartbeater(self.metastore)
        self.leases = Leases(
            spark, self.metastore, self.heartbeater, max_age=self.settings.snapshot_max_age
        )
        self.temp_views = TempViews(spark)
        self.user = getpass.getuser()
        self.host = socket.gethostname()
        # The zone whose wall clocks Hive is to read. A later SET TIME ZONE changes how instants are
        # parsed and printed, as in Spark, not which instants the tables hold.
        self.time_zone = str(spark.conf.get("spark.sql.session.timeZone"))
        self._mirror_databases()
        # Readers that are gone must not hold cleaners back until their time-out.
        atexit.register(self.close)

    @classmethod
    def of(cls, spark: SparkSession) -> AcidSession:
        """The AcidSession of a Spark session."""
        key = f"{spark.sparkContext.applicationId}/{spark._jsparkSession.sessionUUID()}"
        with cls._lock:
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
        if database == "default":
            return self.warehouse
        return self.metastore.database_location(database) or child(self.warehouse, f"{database}.db")

    def _mirror_databases(self) -> None:
        """Make the metastore's databases known to Spark, so that USE and name resolution work."""
        for name in self.metastore.databases():
            mirror_database(self, name)

    def close(self) -> None:
        """Release leases, stop heartbeats, close the metastore."""
        atexit.unregister(self.close)
        self.leases.release()
        self.heartbeater.stop()
        self.metastore.close()
        with self._lock:
            for key, session in list(self._sessions.items()):
                if session is self:
                    del self._sessions[key]


def mirror_database(session: AcidSession, name: str, comment: str | None = None) -> None:
    """Make a database of the metastore known to Spark's own catalog."""
    if not session.spark.catalog.databaseExists(f"spark_catalog.`{name}`"):
        location = literal(session.database_location(name))
        said = f"COMMENT {literal(comment)}" if comment else ""
        session.spark.sql(f"CREATE DATABASE IF NOT EXISTS `{name}` {said} LOCATION {location}")
