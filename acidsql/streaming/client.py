"""Client of a metastore without Spark: what a streaming connection needs of a session."""

from __future__ import annotations

import getpass
import socket
from dataclasses import dataclass, field
from pathlib import Path

from acidsql.errors import MetastoreError
from acidsql.metastore.embedded.store import EmbeddedMetastore
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.model import Table
from acidsql.metastore.names import THRIFT
from acidsql.metastore.protocol import Metastore
from acidsql.metastore.tls import Tls
from acidsql.session.heartbeat import Heartbeater
from acidsql.storage.local_files import LocalFiles
from acidsql.storage.sync import SyncedFiles
from acidsql.streaming.files import StorageFiles, StreamingFiles


@dataclass(slots=True, kw_only=True)
class Client:
    """Client of a metastore.

    Attributes:
        metastore: the metastore.
        files: of the local disk, and of the storage of the table.
        heartbeater: sends heartbeats for the open transactions.
        user: who writes.
        host: name of this host.
        owned_places: see ``table_owner``.
        learnt_places: directories whose write ids the metastore has been compared with.
    """

    metastore: Metastore
    files: StreamingFiles
    heartbeater: Heartbeater
    user: str
    host: str
    owned_places: set[str] = field(default_factory=set)
    learnt_places: set[str] = field(default_factory=set)

    def table(self, name: str) -> Table:
        """Return a table: ``db.t``, or one of the database ``default``.

        Raises:
            AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        """
        database, dot, own = name.rpartition(".")
        return self.metastore.table(database if dot else "default", own)

    def close(self) -> None:
        """Stop the heartbeats and close the metastore."""
        self.heartbeater.stop()
        self.metastore.close()


def open_client(
    place: str | Path,
    *,
    user: str | None,
    timeout: float,
    txn_timeout: float,
    synchronous: bool,
    kerberos: Kerberos | None,
    tls: Tls | None,
    storage: StorageFiles | None = None,
) -> Client:
    """Open a metastore.

    Args:
        place: path of an embedded metastore's file, which exists, or ``thrift://host:port`` of a
            Hive Metastore.
        user: name of the user; None: that of the process.
        timeout: seconds to wait for an answer of a Hive Metastore.
        txn_timeout: seconds without a heartbeat after which an embedded metastore aborts.
        synchronous: whether what is committed is on the disk.
        kerberos: principal of a Hive Metastore that demands it.
        tls: of a Hive Metastore that speaks TLS.
        storage: file system beside the local disk.

    Raises:
        MetastoreError: METASTORE_UNAVAILABLE, METASTORE_URI.
    """
    name = user or getpass.getuser()
    files = StreamingFiles(LocalFiles(synchronous=synchronous), storage)
    metastore: Metastore
    if str(place).startswith(THRIFT):
        # Imported here because the Thrift interface takes a moment to load.
        from acidsql.metastore.hive import connect  # noqa: PLC0415

        metastore = connect(
            str(place),
            user=name,
            timeout=timeout,
            kerberos=kerberos,
            tls=tls,
            files=SyncedFiles(files),
        )
    else:
        path = Path(str(place).removeprefix("file:"))
        if not path.is_file():
            raise MetastoreError(
                "METASTORE_UNAVAILABLE",
                f"there is no metastore file {str(path)!r}: give the file that "
                "spark.acidsql.metastore names, or thrift://host:port of a Hive Metastore",
            )
        metastore = EmbeddedMetastore(
            str(path), txn_timeout=txn_timeout, synchronous=synchronous, files=SyncedFiles(files)
        )
    return Client(
        metastore=metastore,
        files=files,
        heartbeater=Heartbeater(metastore),
        user=name,
        host=socket.gethostname(),
    )
