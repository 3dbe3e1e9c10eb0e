"""Statistics of the Hive Metastore, which a write marks as out of date.

Hive answers ``count(*)`` from statistics, so they must never be stale. Hive 4 uses them while
``COLUMN_STATS_ACCURATE`` is set and the write id with which the flag was set is visible
(StatsUtils.areBasicStatsUptoDateForQueryAnswering, ObjectStore). A writer that does not count rows
must remove the flag under its write id. Then Hive also does not use the statistics of a concurrent
writer, which cannot see these rows. No client can set the flag while the write id belongs to an
open transaction, so one write id covers all transactions that commit before it. Hive 3.1 does not
answer queries of transactional tables from statistics (StatsOptimizer).
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from acidsql.format.names import LONG_MAX
from acidsql.metastore.hive import alterations, partitions
from acidsql.metastore.hive.conversions import ACCURATE, STATISTICS
from acidsql.metastore.hive.server import Server
from acidsql.metastore.model import Partition


def record(server: Server, table: Any, write_id: int, written: Sequence[Partition]) -> None:
    """Record a write to a table or to some of its partitions (``RecordWrites``)."""
    if table.partitionKeys:
        _record_partitions(server, table, write_id, written)
    elif server.is_hive4:
        if not _is_marked(table, write_id):
            altered = _without(table, write_id)
            alterations.send_altered(server, table, altered, **_context(table, write_id))
    elif is_counted(table):
        alterations.send_altered(server, table, _without(table, write_id))


def is_counted(owner: Any) -> bool:
    """Return whether a table or partition has statistics that count as accurate."""
    return ACCURATE in (owner.parameters or {})


def _is_marked(owner: Any, write_id: int) -> bool:
    """Return whether a table or partition is marked as out of date under a write id."""
    return owner.writeId == write_id and not is_counted(owner)


def _record_partitions(
    server: Server, table: Any, write_id: int, written: Sequence[Partition]
) -> None:
    existing = partitions.fetch(server, table, [p.values for p in written])
    present = {tuple(p.values) for p in existing}
    missing = [p for p in written if p.values not in present]
    if missing:
        partitions.add(server, table, missing)
    if server.is_hive4:
        unmarked = [_without(p, write_id) for p in existing if not _is_marked(p, write_id)]
        if unmarked:
            partitions.send(server, table, unmarked, **_context(table, write_id))
    elif counted_before := list(filter(is_counted, existing)):
        partitions.send(server, table, [_without(p, write_id) for p in counted_before])


def _without(owner: Any, write_id: int) -> Any:
    """Copy a table or partition without its statistics, with the write id of this write."""
    made = copy.deepcopy(owner)
    made.parameters = {k: v for k, v in (made.parameters or {}).items() if k not in STATISTICS}
    made.writeId = write_id
    return made


def _context(table: Any, write_id: int) -> dict[str, Any]:
    """Return the fields that identify the transaction that changes the statistics."""
    seen = f"{table.dbName}.{table.tableName}:{write_id}:{LONG_MAX}::"
    return {"writeId": write_id, "validWriteIdList": seen}
