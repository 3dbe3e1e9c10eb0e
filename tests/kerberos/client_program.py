"""Client of a metastore with Kerberos, which prints the outcome of its calls as JSON. Kerberos'
library reads its configuration once per process, so each client has its own.

Arguments: URI, principal, least protection, database to create; for TLS a file of certificates.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from acidsql.errors import MetastoreError
from acidsql.metastore.hive.connection import Connections, Endpoint, parse_uris
from acidsql.metastore.hive.gssapi_mechanism import GssapiMechanism
from acidsql.metastore.hive.sasl import kerberos_handshake
from acidsql.metastore.hive.store import HiveMetastore
from acidsql.metastore.kerberos import Kerberos, Protection
from acidsql.metastore.tls import Tls

_SECONDS = 20
_GROUPS = ["g" * 100] * 4000  # more than a server of Java takes in one message, which is 64 KiB


def main(
    uri: str, principal: str, least: str, database: str, ca_file: str | None = None
) -> dict[str, Any]:
    """Call a metastore; return its answers and the protection that was agreed on."""
    kerberos = Kerberos(principal=principal, protection=Protection[least.upper()])
    agreed: list[Protection | None] = []
    handshake = kerberos_handshake(kerberos)

    def recorded(connected: Any, endpoint: Endpoint) -> Any:
        protocol = handshake(connected, endpoint)
        mechanism = protocol.trans.sasl._mechanism
        assert isinstance(mechanism, GssapiMechanism)
        agreed.append(mechanism.protection)
        return protocol

    endpoints = parse_uris(uri)
    connections = Connections(
        endpoints,
        user="ann",
        timeout=_SECONDS,
        tls=Tls(ca_file=ca_file).context() if ca_file else None,
        handshake=recorded,
    )
    store = HiveMetastore(connections, user="ann")
    try:
        store.create_database(database, f"file:/nowhere/{database}")
        txn_id = store.open_txn("ann", "host")
        store.commit_txn(txn_id)
        echoed = connections.call("set_ugi", "ann", _GROUPS)
        return {
            "databases": store.databases(),
            "committed": store.valid_txns().is_valid(txn_id),
            "echoed": echoed[: len(_GROUPS)] == _GROUPS,
            "agreed": sorted({one.name.lower() for one in agreed if one is not None}),
        }
    except MetastoreError as error:
        return {"condition": error.condition, "message": error.message}
    finally:
        store.close()


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
