"""All families of faults, by name."""

from __future__ import annotations

from tests.faults import (
    clock,
    disk,
    executors,
    hdfs,
    interrupts,
    io,
    kills,
    metastore_kills,
    metastore_server,
    pauses,
    s3_kills,
    server_calls,
    streams,
)
from tests.faults.campaign import Family

_ALL = (
    kills.FAMILY,
    s3_kills.FAMILY,
    metastore_kills.FAMILY,
    interrupts.FAMILY,
    pauses.FAMILY,
    disk.FAMILY,
    io.FAMILY,
    clock.FAMILY,
    executors.FAMILY,
    metastore_server.FAMILY,
    server_calls.FAMILY,
    hdfs.FAMILY,
    streams.FAMILY,
)
FAMILIES: dict[str, Family] = {family.name: family for family in _ALL}
