"""Basic statistics of a table in the metastore (Hive: ``StatsSetupConst``).

Hive answers ``count(*)`` from the number of rows if the statistics are said to be accurate.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from acidsql.checking.problems import Problem
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.metastore.table_statistics import Statistics

ACCURATE = "COLUMN_STATS_ACCURATE"
ROWS = "numRows"
# All that a writer who does not count has to take out.
NAMES = frozenset({ACCURATE, ROWS, "numFiles", "numFilesErasureCoded", "rawDataSize", "totalSize"})


def is_accurate(properties: Mapping[str, str]) -> bool:
    """Return whether the basic statistics are said to be those of the files.

    >>> is_accurate({"COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}'})
    True
    """
    try:
        said = json.loads(properties.get(ACCURATE, "{}"))
    except ValueError:
        return False
    return isinstance(said, dict) and str(said.get("BASIC_STATS", "")).lower() == "true"


def statistics_problems(
    path: str, properties: Mapping[str, str], rows: int | None
) -> Iterator[Problem]:
    """Find a number of rows in the metastore that is not that of the files.

    Args:
        path: of the table or partition.
        properties: of the table or partition.
        rows: number of its rows according to the files; None if these do not contain it.
    """
    recorded = properties.get(ROWS)
    if recorded is not None and is_accurate(properties):
        yield from _problems(path, recorded, rows)


def analyzed_problems(
    path: str, analyzed: Statistics | None, seen: ValidWriteIdList, rows: int | None
) -> Iterator[Problem]:
    """Find a number of rows by ANALYZE TABLE that is not that of the files.

    Args:
        path: of the table.
        analyzed: statistics of the metastore; None if there are none.
        seen: write ids whose rows were counted; statistics of later ones are not compared.
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
