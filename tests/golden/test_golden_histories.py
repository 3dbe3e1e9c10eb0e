"""Tests of every version of every golden history: its rows and row ids are those of Hive."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from itertools import pairwise
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.session.acid_session import AcidSession
from tests.golden.histories import GOLDEN_HISTORIES, GoldenHistory
from tests.hive_tables import adopt, create
from tests.hive_values import Row, rows_in_order, rows_with_ids
from tests.product.conditions import condition_of

pytestmark = [pytest.mark.spark, pytest.mark.golden]

each_history = pytest.mark.parametrize("golden", GOLDEN_HISTORIES, ids=lambda g: g.table.name)


def grow(spark: SparkSession, golden: GoldenHistory, root: Path) -> None:
    """Create the table over an empty directory, and give its write ids, before Hive's files are
    there: so nothing can have been cleaned before.
    """
    root.mkdir()
    create(spark, golden.table, root)
    for partition in golden.table.partitions:
        pairs = zip(golden.table.partition_columns, partition.values, strict=True)
        values = ", ".join(
            f"{name} = NULL" if value == DEFAULT_PARTITION else f"{name} = '{value}'"
            for (name, _), value in pairs
        )
        acidsql.sql(spark, f"ALTER TABLE t ADD PARTITION ({values})")
    metastore = AcidSession.of(spark).metastore
    # Hive begins with ten million where a table is converted.
    known = 0 if min(golden.versions) else max(golden.versions)
    for _ in range(known):
        txn_id = metastore.open_txn("hive", "localhost")
        metastore.allocate_write_id(txn_id, "default", "t")
        metastore.commit_txn(txn_id)
    shutil.copytree(golden.data, root, dirs_exist_ok=True)


@each_history
def test_every_version_reads_as_in_hive(
    empty: SparkSession, tmp_path: Path, golden: GoldenHistory
) -> None:
    grow(empty, golden, tmp_path / "t")
    types = golden.table.types(empty)
    for version in golden.versions:
        found = rows_with_ids(acidsql.table(empty, "t", version=version))
        assert found == golden.rows(version, types), version


@each_history
def test_versions_before_a_base_are_refused_where_nobody_knows_what_was_cleaned(
    empty: SparkSession, tmp_path: Path, golden: GoldenHistory
) -> None:
    shutil.copytree(golden.data, tmp_path / "t")
    adopt(empty, golden.table, tmp_path / "t")
    types = golden.table.types(empty)
    newest = golden.newest_base
    for version in golden.versions:
        if version >= newest:
            found = rows_with_ids(acidsql.table(empty, "t", version=version))
            assert found == golden.rows(version, types), version
            continue
        with pytest.raises(acidsql.AcidSqlError) as caught:
            acidsql.table(empty, "t", version=version)
        assert condition_of(caught.value) == "HISTORY_NOT_AVAILABLE"


@each_history
def test_changes_make_each_version_of_the_one_before(
    empty: SparkSession, tmp_path: Path, golden: GoldenHistory
) -> None:
    grow(empty, golden, tmp_path / "t")
    types = golden.table.types(empty)
    merged = golden.oldest_with_changes
    if merged:
        with pytest.raises(acidsql.AcidSqlError) as caught:
            acidsql.changes(empty, "t", from_version=merged)
        assert condition_of(caught.value) == "HISTORY_NOT_AVAILABLE"
    changes = acidsql.changes(empty, "t", from_version=merged, starting_bound_inclusive=False)
    told: dict[int, Counter[Row]] = defaultdict(Counter)
    for *values, kind, version in rows_in_order(changes.drop("_commit_timestamp")):
        told[int(version)][tuple(values)] += 1 if kind == "insert" else -1
    later = sorted(version for version in golden.versions if version >= merged)
    assert told.keys() <= set(later[1:])
    for before, after in pairwise(later):
        rows = Counter(row for _, row in golden.rows(before, types))
        rows.update(told[after])  # negative counts are subtracted
        assert +rows == Counter(row for _, row in golden.rows(after, types)), after
        assert not -rows, after
