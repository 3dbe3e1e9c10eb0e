"""Tests of older versions of golden tables: rows and row ids are those that Hive read then.

Many golden tables were made by the statements of another one and further ones. So what Hive read of
the other one is what it read of this one at that step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.format.names import DirectoryKind, parse_directory
from acidsql.format.valid_lists import ValidWriteIdList
from tests.golden.golden import GOLDEN, TABLES, copy, expected_with_ids, parameters
from tests.hive_tables import HiveTable, adopt
from tests.hive_values import rows_with_ids

pytestmark = pytest.mark.spark


def _steps(golden: HiveTable) -> dict[int, HiveTable]:
    """Return the golden tables that this one was at earlier steps, by their newest write ids."""
    return {
        _newest(other): other
        for other in GOLDEN
        if other.all_committed and _is_earlier(other, golden) and _newest(other) < _newest(golden)
    }


def _is_earlier(one: HiveTable, other: HiveTable) -> bool:
    """Return whether one table was made by the first statements of another one, and has the same
    columns.
    """
    first, all_of_them = ((TABLES / g.name / "create.sql").read_text() for g in (one, other))
    return all_of_them.startswith(first) and one.columns == other.columns


def _newest(golden: HiveTable) -> int:
    return ValidWriteIdList.from_string(golden.valid_write_ids).high_water_mark


def _bases(golden: HiveTable) -> Iterator[int]:
    """Yield the write ids of the bases of all partitions."""
    for path in (TABLES / golden.name / "data").rglob("base_*"):
        found = parse_directory(path.name)
        if found is not None and found.kind is DirectoryKind.BASE:
            yield found.max_write_id


STEPS: Mapping[str, Mapping[int, HiveTable]] = {
    g.name: _steps(g) for g in GOLDEN if g.all_committed and not g.insert_only
}
# Without a base, with one of a compaction, and with one that replaced the rows.
_QUICK = frozenset({"minor_query_uncleaned"})
WITH_STEPS = [g for g in GOLDEN if STEPS.get(g.name)]


def test_steps_are_known() -> None:
    """Versions 2 and 3 of the table ``history`` are the tables ``insert`` and ``update``."""
    assert {v: g.name for v, g in STEPS["history"].items()} == {2: "insert", 3: "update"}
    assert sum(map(len, STEPS.values())) > 30


@pytest.mark.parametrize("golden", parameters(WITH_STEPS, _QUICK))
def test_a_version_reads_as_in_hive_at_its_step(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    adopt(empty, golden, copy(golden, tmp_path))
    newest_base = max(_bases(golden), default=0)
    for version, step in STEPS[golden.name].items():
        if version >= newest_base:
            frame = acidsql.table(empty, "t", version=version)
            assert rows_with_ids(frame) == expected_with_ids(empty, step), version
            continue
        # What was cleaned before a table is adopted is unknown.
        with pytest.raises(AcidAnalysisError) as caught:
            acidsql.table(empty, "t", version=version)
        assert caught.value.condition == "HISTORY_NOT_AVAILABLE"
