"""Tests of every golden table under Hive's snapshot: rows, row ids, partition values and types."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import DirectoryKind
from acidsql.format.valid_lists import ValidTxnList, ValidWriteIdList
from acidsql.metastore.model import Partition
from acidsql.planning.name_resolution import acid_table
from acidsql.planning.statement_snapshots import latest_snapshot
from acidsql.scan.plan import count_rows_from_tails
from acidsql.scan.snapshot import TableSnapshot
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileSystem
from tests.golden.golden import (
    DELETING,
    GOLDEN,
    copy,
    expected_rows,
    expected_with_ids,
    parameters,
)
from tests.hive_tables import HiveTable, adopt
from tests.hive_values import rows, rows_with_ids
from tests.product.independent_reader import events_of

pytestmark = pytest.mark.spark


@pytest.mark.sample(6)
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


@pytest.mark.sample(1)
@pytest.mark.parametrize("golden", parameters(DELETING))
def test_the_deleted_rows_are_all_others_in_the_files(
    empty: SparkSession, tmp_path: Path, golden: HiveTable
) -> None:
    adopt(empty, golden, copy(golden, tmp_path))
    lists = golden.valid_write_ids, golden.valid_txns
    frame = acidsql.table(
        empty, "t", valid_write_ids=lists[0], valid_txns=lists[1], deleted_rows=True
    )
    live = frame.where("NOT row__is__deleted")
    assert rows_with_ids(live) == expected_with_ids(empty, golden)
    shown = [key for key, _ in rows_with_ids(frame.where("row__is__deleted"))]
    snapshot = _snapshot(empty, golden)
    if not any(p.state.originals for p in snapshot.partitions):
        assert shown == sorted(_deleted(AcidSession.of(empty).files, snapshot))


def _deleted(files: FileSystem, snapshot: TableSnapshot) -> Iterator[tuple[int, int, int]]:
    """Yield the keys of deleted rows, with the write ids that deleted them, as pyorc reads them."""
    for partition in snapshot.partitions:
        stored: set[tuple[int, int, int]] = set()
        deleted: dict[tuple[int, int, int], int] = {}
        for directory in partition.state.directories:
            # Without the values: some are days and moments that Python has no type for.
            events = events_of(files, partition, directory, snapshot.write_ids, columns=range(5))
            for key, write_id, _ in events:
                if directory.kind is DirectoryKind.DELETE_DELTA:
                    deleted[key] = max(write_id, deleted.get(key, 0))
                else:
                    stored.add(key)
        for key in stored & deleted.keys():
            yield deleted[key], *key[1:]


def _snapshot(spark: SparkSession, golden: HiveTable) -> TableSnapshot:
    """Take Hive's snapshot of a golden table that was adopted."""
    session = AcidSession.of(spark)
    seen = latest_snapshot(session)
    table = acid_table(session, ("t",))
    txns = ValidTxnList.from_string(golden.valid_txns)
    seen.lists[table.full_name] = ValidWriteIdList.from_string(golden.valid_write_ids), txns
    return seen.snapshot(table)


def _counted(spark: SparkSession, golden: HiveTable) -> int | None:
    """Return the number of rows according to the tails of the files."""
    return count_rows_from_tails(AcidSession.of(spark), _snapshot(spark, golden))


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
