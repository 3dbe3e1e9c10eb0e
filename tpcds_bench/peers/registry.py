"""Registry of the engines, and the Spark release for the comparison of each engine."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from tpcds_bench.peers.acid import Acid
from tpcds_bench.peers.delta import Delta
from tpcds_bench.peers.engine import Engine
from tpcds_bench.peers.flat import Flat
from tpcds_bench.peers.hudi import Hudi
from tpcds_bench.peers.iceberg import Iceberg

SUBJECT, FLAT = "acidsql", "orc"

ENGINES: dict[str, type[Engine]] = {
    SUBJECT: Acid,
    FLAT: Flat,
    "delta": Delta,
    "iceberg": Iceberg,
    "hudi": Hudi,
}
"""The engines, by their names on the command line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Engines that are compared with each other.

    Args:
        pyspark: release of PySpark that all engines of the group run on.
        engines: names of the engines.
    """

    pyspark: str
    engines: tuple[str, ...]


# The newest releases of Spark that the newest release of each engine supports.
GROUPS = (
    Group(pyspark="4.0.5", engines=(SUBJECT, FLAT, "delta", "iceberg")),
    Group(pyspark="3.5.9", engines=(SUBJECT, FLAT, "hudi")),
)


def peers(engines: Collection[str]) -> tuple[str, ...]:
    """Return the engines that are neither acidsql nor flat ORC."""
    return tuple(name for name in engines if name not in {SUBJECT, FLAT})


def groups(wanted: Collection[str]) -> tuple[Group, ...]:
    """Return the groups with the requested engines; all groups if none are requested.

    acidsql and flat ORC are in every group. If only these are requested, the first group is enough.
    """
    narrowed = [
        Group(
            pyspark=group.pyspark,
            engines=tuple(name for name in group.engines if not wanted or name in wanted),
        )
        for group in GROUPS
    ]
    with_peers = tuple(group for group in narrowed if peers(group.engines))
    return with_peers or tuple(narrowed[:1])
