"""Statistics that Hive keeps of a table, and answers ``count(*)`` from, must never be stale.

Hive 4 takes them for true while ``COLUMN_STATS_ACCURATE`` says so and the write id of who set it is
visible (StatsUtils.areBasicStatsUptoDateForQueryAnswering, ObjectStore). A writer who counts
nothing must take the flag away, under its own write id: then somebody who counts at the same time,
and cannot see this writer's rows, is not believed either. Hive 3.1 does not answer from statistics
of transactional tables (StatsOptimizer).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from acidsql.format.names import LONG_MAX
from acidsql.metastore.hive import catalog, partitions
from acidsql.metastore.hive.conversions import STATISTICS
from acidsql.metastore.hive.server import Server
from acidsql.metastore.model import Partition


def record_table(server: Server, table: Any, write_id: int) -> None:
    """``Metastore.record_writes`` of a table without partitions, in Hive 4."""
    altered = _without(table, write_id)
    catalog.send_altered(server, table, altered, **_context(table, write_id))


def record_partitions(
    server: Server, table: Any, write_id: int, written: Sequence[Partition]
) -> None:
    """``Metastore.record_writes`` of a partitioned table."""
    existing = partitions.fetch(server, table, [p.values for p in written])
    present = {tuple(p.values) for p in existing}
    missing = [p for p in written if p.values not in present]
    if missing:
        partitions.add(server, table, missing)
    if server.is_hive4 and existing:
        counted = [_without(p, write_id) for p in existing]
        partitions.send(server, table, counted, **_context(table, write_id))


def _without(owner: Any, write_id: int) -> Any:
    """A table or partition whose statistics are unknown from this write on."""
    made = copy.deepcopy(owner)
    made.parameters = {k: v for k, v in (made.parameters or {}).items() if k not in STATISTICS}
    made.writeId = write_id
    return made


def _context(table: Any, write_id: int) -> dict[str, Any]:
    """By which the server knows that a transaction vouches for the change."""
    seen = f"{table.dbName}.{table.tableName}:{write_id}:{LONG_MAX}::"
    return {"writeId": write_id, "validWriteIdList": seen}
