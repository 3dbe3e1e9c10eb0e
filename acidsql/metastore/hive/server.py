"""Metastore server: its calls, its version and its settings."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from typing import Any

from thriftpy2.thrift import TException

from acidsql.errors import MetastoreError
from acidsql.limits import limits
from acidsql.metastore.hive.connection import ConnectionLostError, Connections
from acidsql.metastore.hive.idl import hms
from acidsql.once import once_property

logger = logging.getLogger(__name__)

# The only catalog that acidsql works in.
CATALOG = "hive"
# Capabilities that Hive 4 requires from a client that reads or creates transactional tables
# (MetastoreDefaultTransformer).
CAPABILITIES = ("HIVEFULLACIDREAD", "HIVEFULLACIDWRITE", "HIVEMANAGEDINSERTREAD",
                "HIVEMANAGEDINSERTWRITE", "HIVESQL")  # fmt: skip
PROCESSOR = "acidsql"
UNKNOWN_CALL = "METASTORE_VERSION"
# Databases that can compare long texts, with their names in hive.metastore.db.type.
_COMPARES_TEXT = ("MYSQL", "POSTGRES", "MSSQL")
_SECONDS = {"ms": 0.001, "msec": 0.001, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600,
            "hour": 3600, "d": 86400, "day": 86400, "": 1}  # fmt: skip


class Server:
    """Metastore: one server, or several that share a database.

    Args:
        connections: connections to the servers.
        user: user name of the caller.
    """

    def __init__(self, connections: Connections, *, user: str) -> None:
        self.connections = connections
        self.user = user
        self._settings: dict[str, str] = {}
        self._unknown: set[str] = set()

    def call(self, method: str, *arguments: object, repeatable: bool = True) -> Any:
        """See ``Connections.call``."""
        return self.connections.call(method, *arguments, repeatable=repeatable)

    def call_if_known(self, method: str, *arguments: object) -> Any | None:
        """Call the server; return None, and remember it, if the server does not have the call."""
        if method in self._unknown:
            return None
        try:
            return self.call(method, *arguments)
        except MetastoreError as error:
            if error.condition != UNKNOWN_CALL:
                raise
        self._unknown.add(method)
        return None

    def call_once(self, method: str, *arguments: object, is_done: Callable[[], bool]) -> None:
        """Call the server for a change that must not be made twice.

        Args:
            is_done: returns whether the change was made; called if the answer is lost.
        """
        try:
            self.call(method, *arguments, repeatable=False)
        except ConnectionLostError:
            if not is_done():
                raise

    def beat(self, method: str, *arguments: object) -> Any:
        """Call the server for a heartbeat, with a time-out that leaves time to send it again.

        With the time-out of other calls, one lost heartbeat could let every transaction time out.
        """
        return self._heartbeats.call(method, *arguments)

    def close(self) -> None:
        """Close the connections."""
        self.connections.close()
        if "_heartbeats" in vars(self):  # otherwise no heartbeat was sent
            self._heartbeats.close()

    @once_property
    def _heartbeats(self) -> Connections:
        return self.connections.with_timeout(self.txn_timeout * limits().heartbeat_timeout_part)

    @once_property
    def version(self) -> str:
        """Version that the server reports; Hive 3.1 reports 3.0."""
        return str(self.call("getVersion"))

    @once_property
    def is_hive4(self) -> bool:
        """Return whether the server has the features of Hive 4.

        Hive 4 has EXCL_WRITE locks, types of transactions, compactors in other processes, write ids
        that can be seeded, and statistics whose validity depends on a transaction. Servers of
        Cloudera Runtime 7 have these features too, but report version 3.1.3000. Their calls
        identify them.

        Raises:
            MetastoreError: METASTORE_VERSION, the server is older than Hive 3.
        """
        if self._major < 3:
            raise MetastoreError(
                "METASTORE_VERSION",
                f"{self.connections!r} is a metastore of Hive {self.version}, which does not know "
                "write ids: Hive 3.1, 4.0 or 4.1 is needed",
            )
        return self._major > 3 or self._creates_by_request()

    @property
    def knows_zstd(self) -> bool:
        """Whether Hive's ORC reads zstd, as from 1.6 on. Cloudera Runtime 7.1 contains ORC 1.5."""
        return self._major > 3

    @once_property
    def _major(self) -> int:
        return int(re.match(r"\d*", self.version)[0] or 0)  # type: ignore[index]

    def _creates_by_request(self) -> bool:
        """Return whether the server has Hive 4's call for new tables.

        The requested table has no name, so the server creates nothing.
        """
        nothing = hms.Table(dbName="default", tableName="", partitionKeys=[], parameters={})
        nothing.sd = hms.StorageDescriptor(cols=[], serdeInfo=hms.SerDeInfo())
        try:
            self.call("create_table_req", hms.CreateTableRequest(table=nothing), repeatable=False)
        except MetastoreError as error:
            if error.condition == UNKNOWN_CALL:
                return False
            if isinstance(error, ConnectionLostError) or error.condition != "METASTORE_ERROR":
                raise
        except TException:
            pass  # expected, because the table has no name
        return True

    @once_property
    def cleans_below_min_history(self) -> bool:
        """Return whether the cleaner waits for registered readers, not for all open transactions.

        This is a setting of Hive 4 (TXN_USE_MIN_HISTORY_WRITE_ID). With it, Hive 4.0 and 4.1 also
        forget the write ids of open transactions (CompactionTxnHandler.cleanTxnToWriteIdTable), and
        then report these write ids to every client as valid.
        """
        name = "hive.txn.use.minhistorywriteid"
        is_set = self.is_hive4 and self.setting(name, "false").lower() == "true"
        if is_set:
            logger.warning(
                "%r has the setting metastore.txn.use.minhistorywriteid: when its housekeeper has "
                "run, it shows what open transactions write to everybody, Hive included "
                "(HIVE-25346); set it to false",
                self.connections,
            )
        return is_set

    @once_property
    def compares_before_alter(self) -> bool:
        """Return whether the server can make the alteration of a table depend on a parameter.

        Hive 4 uses direct SQL for it (ObjectStore.updateParameterWithExpectedValue). The SQL of 4.0
        fails if parameters are CLOBs, as in Derby and Oracle. The behaviour of servers that report
        version 3 is unknown.
        """
        direct = self.setting("hive.metastore.try.direct.sql", "true") == "true"
        if self._major < 4 or not direct:
            return False
        database = self.setting("hive.metastore.db.type", "DERBY").upper()
        return not self.version.startswith("4.0") or database in _COMPARES_TEXT

    @property
    def moves_partition_statistics(self) -> bool:
        """Whether the columns of a table can change while its partitions have column statistics.

        Hive 4.0 requires a write id for it, but accepts none (HiveAlterHandler.alterTable).
        """
        return not self.is_hive4 or (self._major > 3 and not self.version.startswith("4.0"))

    def setting(self, name: str, default: str) -> str:
        """Return a setting of the server, which is requested only once.

        Args:
            name: its name in Hive 3.1, ``hive.…``, which all servers know.
            default: value if the server does not set it.
        """
        if name not in self._settings:
            try:
                self._settings[name] = str(self.call("get_config_value", name, default))
            except hms.ConfigValSecurityException:
                self._settings[name] = default
        return self._settings[name]

    @once_property
    def txn_timeout(self) -> float:
        """``hive.txn.timeout``, in seconds."""
        return seconds(self.setting("hive.txn.timeout", "300s"))


def seconds(text: str) -> float:
    """Convert a duration of Hive's settings to seconds.

    >>> seconds("300s"), seconds("500ms"), seconds("5m")
    (300.0, 0.5, 300.0)
    """
    match = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    unit = match[2] if match else None
    if match is None or unit not in _SECONDS:
        raise MetastoreError(
            "METASTORE_ERROR",
            f"the metastore has a time-out of {text!r}, which is not a duration: set "
            "hive.txn.timeout of the server to a number with a unit, such as 300s",
        )
    return int(match[1]) * float(_SECONDS[unit])
