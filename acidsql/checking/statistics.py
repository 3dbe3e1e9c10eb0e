"""Basic statistics of a table in the metastore (Hive: ``StatsSetupConst``).

Hive answers ``count(*)`` from the row count if the properties mark the statistics as accurate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from acidsql.checking.problems import Problem
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.table_statistics import Statistics

ACCURATE = "COLUMN_STATS_ACCURATE"
ROWS = "numRows"
# Properties that a writer must remove if it does not count rows.
NAMES = frozenset({ACCURATE, ROWS, "numFiles", "numFilesErasureCoded", "rawDataSize", "totalSize"})


def is_accurate(properties: Mapping[str, str]) -> bool:
    """Return whether the properties mark the basic statistics as accurate.

    >>> is_accurate({"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'})
    True
    """
    try:
        accurate = json.loads(properties.get(ACCURATE, "{}"))
    except ValueError:
        return False
    return isinstance(accurate, dict) and str(accurate.get("BASIC_STATS", "")).lower() == "true"


def statistics_problems(
    path: str, properties: Mapping[str, str], rows: int | None
) -> Iterator[Problem]:
    """Find a row count in the metastore that differs from the files.

    Args:
        path: path of the table or partition.
        properties: properties of the table or partition.
        rows: number of rows in the files; None if the files do not contain this number.
    """
    recorded = properties.get(ROWS)
    if recorded is not None and is_accurate(properties):
        yield from _problems(path, recorded, rows)


def analyzed_problems(
    path: str, analyzed: Statistics | None, seen: ValidWriteIdList, rows: int | None
) -> Iterator[Problem]:
    """Find a row count of ANALYZE TABLE that differs from the files.

    Args:
        path: path of the table.
        analyzed: statistics of the metastore; None if the table has none.
        seen: write ids of the counted rows; statistics of a later write id are not compared.
        rows: as in ``statistics_problems``.
    """
    if analyzed is None or analyzed.rows is None or not analyzed.is_current:
        return
    if not analyzed.write_id or seen.is_valid(analyzed.write_id):
        yield from _problems(path, str(analyzed.rows), rows)


def _problems(path: str, recorded: str, rows: int | None) -> Iterator[Problem]:
    if rows is not None and recorded != str(rows):
        detail = f"the metastore says that there are {recorded} rows, the files have {rows}"
        yield Problem(name="STALE_STATISTICS", path=path, detail=detail)
