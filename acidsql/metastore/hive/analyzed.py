"""Statistics of ANALYZE TABLE in the Hive Metastore, in Hive's form.

Rows and sizes are parameters of a table or partition, next to ``COLUMN_STATS_ACCURATE``. Column
statistics have separate calls. Both are stored with the write id of the transaction that computed
them and the write ids that it saw. Hive 4 does not trust them if other transactions have written
since (isCurrentStatsValidForTheQuery of ObjectStore).
"""

from __future__ import annotations

import copy
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.hive import alterations, partitions
from acidsql.metastore.hive.column_statistics import from_hive, to_hive
from acidsql.metastore.hive.conversions import ACCURATE
from acidsql.metastore.hive.idl import hms
from acidsql.metastore.hive.server import CATALOG, Server
from acidsql.metastore.table_statistics import Statistics

# Engine that wrote the statistics. Hive reads only those with its own name.
_ENGINE = "hive"
_BASIC = "BASIC_STATS"
_OF_COLUMNS = "COLUMN_STATS"


def record(
    server: Server,
    table: Any,
    write_id: int,
    computed: Sequence[Statistics],
    now: ValidWriteIdList,
) -> None:
    """Write statistics (``RecordStatistics``).

    For a table with partitions, Hive stores only the statistics of the partitions.

    Args:
        now: write ids that are visible now. If other transactions have written since the snapshot,
            or may be about to commit, the statistics do not count as accurate. Hive 4 checks this
            too, and detects writers that store statistics (``hive.stats.autogather``).
    """
    seen = ValidWriteIdList.from_string(computed[0].write_ids)
    if _changed(seen, now, write_id):
        computed = [replace(statistics, is_current=False) for statistics in computed]
    text = with_own(seen, write_id).to_string()
    computed = [replace(statistics, write_ids=text) for statistics in computed]
    if not table.partitionKeys:
        (whole,) = computed
        context = _context(server, write_id, whole.write_ids)
        altered = _with_basic(table, whole, write_id)
        alterations.send_altered(server, table, altered, **context)
        _send_columns(server, table, write_id, [whole])
        return
    by_partition = {s.partition: s for s in computed if s.partition is not None}
    if not by_partition:
        return
    existing = partitions.fetch(server, table, list(by_partition))
    changed = [_with_basic(p, by_partition[tuple(p.values)], write_id) for p in existing]
    of_existing = [by_partition[tuple(p.values)] for p in existing]
    if changed:
        context = _context(server, write_id, of_existing[0].write_ids)
        partitions.send(server, table, changed, **context)
        _send_columns(server, table, write_id, of_existing)


def _changed(seen: ValidWriteIdList, now: ValidWriteIdList, write_id: int) -> bool:
    """Return whether other transactions have written since a snapshot, or may soon commit."""
    allocated = range(seen.high_water_mark + 1, now.high_water_mark + 1)
    others = {*seen.open, *now.open, *allocated} - {write_id, *now.aborted}
    return bool(others)


def with_own(seen: ValidWriteIdList, write_id: int) -> ValidWriteIdList:
    """Add a transaction's own write id to those that it sees, as Hive's clients do."""
    skipped = range(seen.high_water_mark + 1, write_id)
    return replace(
        seen,
        high_water_mark=max(seen.high_water_mark, write_id),
        open=frozenset({*seen.open, *skipped} - {write_id}),
    )


def _with_basic(owner: Any, computed: Statistics, write_id: int) -> Any:
    """Copy a table or partition with a new number of rows and new sizes.

    The statistics of its columns stay. The server drops them if others have written meanwhile.
    """
    made = copy.deepcopy(owner)
    parameters = dict(made.parameters or {})
    parameters["totalSize"] = str(computed.size)
    parameters["numFiles"] = str(computed.files)
    if computed.rows is not None:
        accurate = {**_accurate(parameters), _BASIC: "true"}
        parameters["numRows"] = str(computed.rows)
        parameters["rawDataSize"] = str(computed.raw_size or 0)
        parameters[ACCURATE] = json.dumps(accurate, separators=(",", ":"))
        if not computed.is_current:
            del parameters[ACCURATE]
    made.parameters = parameters
    made.writeId = write_id
    return made


def _accurate(parameters: Mapping[str, str]) -> dict[str, Any]:
    """Return which statistics of a table are accurate (``StatsSetupConst``).

    Before Hive 2 the parameter was a single word, which counts as none.
    """
    try:
        accurate = json.loads(parameters.get(ACCURATE, "{}"))
    except ValueError:
        return {}
    return dict(accurate) if isinstance(accurate, dict) else {}


def _send_columns(
    server: Server, table: Any, write_id: int, computed: Sequence[Statistics]
) -> None:
    """Write the column statistics of a table, or of partitions."""
    types = {field.name: field.type for field in table.sd.cols}
    made = []
    # The call that writes them also marks them as accurate.
    for statistics in filter(lambda s: s.columns and s.is_current, computed):
        described = hms.ColumnStatisticsDesc(
            isTblLevel=statistics.partition is None,
            dbName=table.dbName,
            tableName=table.tableName,
            partName=statistics.partition and partitions.name_of(table, statistics.partition),
            lastAnalyzed=int(time.time()),
            catName=CATALOG,
        )
        columns = [
            to_hive(c, types[c.name], has_timestamps=server.is_hive4) for c in statistics.columns
        ]
        made.append(hms.ColumnStatistics(statsDesc=described, statsObj=columns, engine=_ENGINE))
    if made:
        context = _context(server, write_id, computed[0].write_ids)
        engine = {"engine": _ENGINE} if server.is_hive4 else {}
        request = hms.SetPartitionsStatsRequest(colStats=made, needMerge=False, **context, **engine)
        server.call("set_aggr_stats_for", request)


def _context(server: Server, write_id: int, seen: str) -> dict[str, Any]:
    """Return the fields that identify to Hive 4 the transaction that computed statistics."""
    return {"writeId": write_id, "validWriteIdList": seen} if server.is_hive4 else {}


def find(
    server: Server,
    table: Any,
    partition: tuple[str, ...] | None,
    columns: Sequence[str],
    seen: ValidWriteIdList,
) -> Statistics | None:
    """Return the statistics of a table or partition (``Metastore.statistics``)."""
    owners = [table]
    if table.partitionKeys:
        wanted = None if partition is None else [partition]
        owners = partitions.fetch(server, table, wanted)
    by_owner = [_basic(owner, partition, seen) for owner in owners]
    present = [statistics for statistics in by_owner if statistics is not None]
    if not present:
        return None
    rows = [statistics.rows for statistics in present if statistics.rows is not None]
    whole = Statistics(
        partition=partition,
        size=sum(statistics.size for statistics in present),
        files=sum(statistics.files for statistics in present),
        rows=sum(rows) if len(rows) == len(owners) else None,
        write_id=max(statistics.write_id for statistics in present),
        is_current=len(present) == len(owners)
        and all(statistics.is_current for statistics in present),
    )
    if not columns or not whole.is_current:
        return whole  # Hive 4 does not answer for partitions that are out of date
    return _with_columns(server, table, owners, whole, columns, seen)


def _basic(
    owner: Any, partition: tuple[str, ...] | None, seen: ValidWriteIdList
) -> Statistics | None:
    parameters = owner.parameters or {}
    size, rows = int(parameters.get("totalSize", 0)), int(parameters.get("numRows", -1))
    if not size and rows < 0:  # the server gives size 0 to new tables and partitions
        return None
    # The write id is 0 or less before Hive 4, or if no transaction wrote the statistics.
    write_id = max(getattr(owner, "writeId", None) or 0, 0)
    is_accurate = rows < 0 or _accurate(parameters).get(_BASIC) == "true"
    return Statistics(
        partition=partition,
        size=size,
        files=int(parameters.get("numFiles", 0)),
        rows=rows if rows >= 0 else None,
        write_id=write_id,
        is_current=is_accurate and (not write_id or seen.is_valid(write_id)),
    )


def _with_columns(
    server: Server,
    table: Any,
    owners: Sequence[Any],
    whole: Statistics,
    columns: Sequence[str],
    seen: ValidWriteIdList,
) -> Statistics:
    """Add the column statistics; the server merges the statistics of partitions."""
    requested = {"dbName": table.dbName, "tblName": table.tableName, "colNames": list(columns)}
    requested["catName"] = CATALOG
    if server.is_hive4:
        requested |= {"validWriteIdList": seen.to_string(), "engine": _ENGINE}
    if table.partitionKeys:
        names = [partitions.name_of(table, tuple(owner.values)) for owner in owners]
        answer = server.call(
            "get_aggr_stats_for", hms.PartitionsStatsRequest(**requested, partNames=names)
        )
        fetched, is_whole = answer.colStats or [], answer.partsFound == len(owners)
    else:
        answer = server.call("get_table_statistics_req", hms.TableStatsRequest(**requested))
        fetched, is_whole = answer.tableStats or [], True
    accurate_columns = [_accurate(owner.parameters or {}).get(_OF_COLUMNS, {}) for owner in owners]
    kept = tuple(
        from_hive(column)
        for column in fetched
        if is_whole and all(accurate.get(column.colName) == "true" for accurate in accurate_columns)
    )
    return replace(
        whole,
        columns=kept,
        is_current=whole.is_current and answer.isStatsCompliant is not False,
    )
