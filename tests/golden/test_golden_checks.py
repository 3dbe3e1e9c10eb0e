"""Tests of CHECK TABLE on every golden table: there is nothing wrong with what Hive wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.session.acid_session import AcidSession
from tests.golden.golden import GOLDEN, TABLES, copy, parameters
from tests.hive_tables import HiveTable, adopt

pytestmark = pytest.mark.spark

_QUICK = ("several_writers_major", "originals_dml", "aborted_between")


def _adopt(spark: SparkSession, golden: HiveTable, place: Path) -> None:
    """Create the table in a metastore that knows which write ids are open or aborted."""
    if golden.all_committed:
        adopt(spark, golden, copy(golden, place))
        return
    root = place / "t"
    root.mkdir()
    adopt(spark, golden, root)
    metastore = AcidSession.of(spark).metastore
    metastore.seed_txn_id(ValidTxnList.from_string(golden.valid_txns).high_water_mark + 1)
    write_ids = ValidWriteIdList.from_string(golden.valid_write_ids)
    for write_id in range(1, write_ids.high_water_mark + 1):
        txn_id = metastore.open_txn("hive", "host")
        assert metastore.allocate_write_id(txn_id, "default", "t") == write_id
        if write_id in write_ids.aborted:
            metastore.abort_txn(txn_id)
        elif write_id not in write_ids.open:
            metastore.commit_txn(txn_id)
    shutil.copytree(TABLES / golden.name / "data", root, dirs_exist_ok=True)


def _problems(spark: SparkSession, clauses: str) -> set[str]:
    found = acidsql.sql(spark, f"CHECK TABLE t {clauses}").collect()
    return {f"{row.problem} {row.path.rpartition('/')[2]}" for row in found}


@pytest.mark.parametrize("golden", parameters(GOLDEN, quick=_QUICK))
def test_nothing_is_wrong_with_a_table_of_hive(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    _adopt(empty, golden, tmp_path)
    fast = _problems(empty, "FAST")
    assert _problems(empty, "FULL") == fast
    # What aborted transactions left is there, as Hive's cleaner had not run.
    # A table that is created over an empty directory has the codec that is usual here.
    expected = set() if golden.all_committed else {"ABORTED_DIRECTORY", "OTHER_CODEC"}
    assert {problem.partition(" ")[0] for problem in fast} <= expected
    assert _problems(empty, "REPAIR") == fast
    left = {problem for problem in fast if problem.startswith("OTHER_CODEC")}
    assert _problems(empty, "FULL") == left
