"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import hdfs, metastore_server, server_calls
from tests.faults.campaign import Family

FAMILIES: dict[str, Family] = {
    hdfs.NAME: hdfs.FAMILY,
    metastore_server.NAME: metastore_server.FAMILY,
    server_calls.NAME: server_calls.FAMILY,
}
