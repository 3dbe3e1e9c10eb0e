"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import hdfs, kills, metastore_kills, metastore_server, server_calls
from tests.faults.campaign import Family

_ALL = (
    kills.FAMILY,
    metastore_kills.FAMILY,
    metastore_server.FAMILY,
    server_calls.FAMILY,
    hdfs.FAMILY,
)  # fmt: skip
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}
