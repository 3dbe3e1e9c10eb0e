"""Client of the Hive Metastore over Thrift: 3.1, 4.0 and 4.1, through one interface.

``store`` composes the other modules. ``hive_metastore.thrift`` defines the calls that they make.
"""

from __future__ import annotations

from acidsql.metastore.file_moves import Files
from acidsql.metastore.hive.connection import Connections, parse_uris
from acidsql.metastore.hive.sasl import kerberos_handshake
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.tls import Tls


def connect(
    uris: str,
    *,
    user: str,
    timeout: float,
    kerberos: Kerberos | None = None,
    tls: Tls | None = None,
    files: Files | None = None,
) -> HiveMetastore:
    """Return the client of a Hive Metastore; the first call connects.

    Args:
        uris: ``thrift://host:port``, several separated by commas.
        user: user name of the caller.
        timeout: seconds to wait for an answer.
        kerberos: principal of the server, if it requires Kerberos.
        tls: settings of TLS, if the server requires it.
        files: file systems of the sources of LOAD DATA, which the client deletes.

    Raises:
        MetastoreError: METASTORE_URI; METASTORE_AUTHENTICATION, certificates cannot be read.
    """
    handshake = None if kerberos is None else kerberos_handshake(kerberos)
    connections = Connections(
        parse_uris(uris),
        user=user,
        timeout=timeout,
        tls=None if tls is None else tls.context(),
        handshake=handshake,
    )
    return HiveMetastore(connections, user=user, files=files)
