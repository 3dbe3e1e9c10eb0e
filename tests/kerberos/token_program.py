"""Call of a metastore with a ticket, such as one that issues a delegation token; prints its answer
as JSON.

Arguments: URI, principal, file of certificates for TLS or nothing, name of the call, its arguments.
"""

from __future__ import annotations

import json
import socket
import sys
from pathlib import Path
from typing import Any

import thriftpy2
from thriftpy2.thrift import TClient

from acidsql.metastore.hive.connection import parse_uris
from acidsql.metastore.hive.sasl import kerberos_handshake
from acidsql.metastore.kerberos import Kerberos
from acidsql.metastore.tls import Tls

_SECONDS = 20


def main(uri: str, principal: str, ca_file: str, method: str, *arguments: str) -> Any:
    """Call a metastore; return its answer."""
    calls: Any = thriftpy2.load(str(Path(__file__).with_name("tokens.thrift")), "tokens_thrift")
    (endpoint,) = parse_uris(uri)
    with socket.create_connection((endpoint.host, endpoint.port), _SECONDS) as connection:
        secured: socket.socket = connection
        if ca_file:
            context = Tls(ca_file=ca_file).context()
            secured = context.wrap_socket(connection, server_hostname=endpoint.host)
        handshake = kerberos_handshake(Kerberos(principal=principal))
        client = TClient(calls.Tokens, handshake(secured, endpoint))
        return getattr(client, method)(*arguments)


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
