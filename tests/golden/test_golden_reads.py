"""Tests of every golden table under Hive's snapshot: rows, row ids, partition values and types."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Partition
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement import latest_snapshot
from acidsql.scan.plan import count_rows_from_tails
from acidsql.session.acid_session import AcidSession
from tests.golden.golden import GOLDEN, copy, expected_rows, expected_with_ids, parameters
from tests.hive_tables import HiveTable, adopt
from tests.hive_values import rows, rows_with_ids

pytestmark = pytest.mark.spark


@pytest.mark.sample(12)
@pytest.mark.parametrize("golden", parameters(GOLDEN))
def test_what_hive_wrote_reads_as_in_hive(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    adopt(empty, golden, copy(golden, tmp_path))
    frame = acidsql.table(
        empty, "t", valid_write_ids=golden.valid_write_ids, valid_txns=golden.valid_txns
    )
    assert frame.columns == [name for name, _ in (*golden.columns, *golden.partition_columns)]
    described = [
        (row.col_name, row.data_type) for row in acidsql.sql(empty, "DESCRIBE t").collect()
    ]
    assert described[: len(golden.columns)] == list(golden.columns)
    if golden.insert_only:
        assert rows(frame) == expected_rows(empty, golden)
    else:
        found = rows_with_ids(frame)
        assert found == expected_with_ids(empty, golden)
        assert _counted(empty, golden) in (len(found), None)


def _counted(spark: SparkSession, golden: HiveTable) -> int | None:
    """Return the number of rows according to the tails of the files."""
    session = AcidSession.of(spark)
    txns = ValidTxnList.from_string(golden.valid_txns)
    table = acid_table(session, ("t",))
    seen = latest_snapshot(session)
    seen.lists[table.full_name] = ValidWriteIdList.from_string(golden.valid_write_ids), txns
    return count_rows_from_tails(session, seen.snapshot(table))


def test_a_partition_that_lies_elsewhere_is_read_there(empty: SparkSession, tmp_path: Path) -> None:
    golden = next(g for g in GOLDEN if g.name == "partition_location_outside")
    root, far = copy(golden, tmp_path), tmp_path / "far"
    adopt(empty, golden, root)
    shutil.move(root / "p=far", far)
    AcidSession.of(empty).metastore.alter_partitions(
        "default", "t", [Partition(values=("far",), location=f"file:{far}")]
    )
    frame = acidsql.table(
        empty, "t", valid_write_ids=golden.valid_write_ids, valid_txns=golden.valid_txns
    )
    assert rows_with_ids(frame) == expected_with_ids(empty, golden)
