"""Client of a metastore without Spark; a streaming connection uses it in place of a session."""

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
        files: files of the local disk and of the table's storage.
        heartbeater: sends heartbeats for the open transactions.
        user: name of the user who writes.
        host: name of this host.
        owned_places: see ``table_owner``.
        learnt_places: directories whose write ids were compared with those of the metastore.
    """

    metastore: Metastore
    files: StreamingFiles
    heartbeater: Heartbeater
    user: str
    host: str
    owned_places: set[str] = field(default_factory=set)
    learnt_places: set[str] = field(default_factory=set)

    def table(self, name: str) -> Table:
        """Return the table ``db.t``; a name without a database means ``default``.

        Raises:
            AcidLookupError: TABLE_OR_VIEW_NOT_FOUND.
        """
        database, dot, table = name.rpartition(".")
        return self.metastore.table(database if dot else "default", table)

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
        place: path of an embedded metastore's existing file, or ``thrift://host:port`` of a Hive
            Metastore.
        user: name of the user; None: the user of the process.
        timeout: seconds to wait for an answer of a Hive Metastore.
        txn_timeout: seconds without a heartbeat after which an embedded metastore aborts a
            transaction.
        synchronous: whether commits are synced to disk.
        kerberos: principal of a Hive Metastore that requires Kerberos.
        tls: TLS settings of a Hive Metastore that uses TLS.
        storage: a file system in addition to the local disk.

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
