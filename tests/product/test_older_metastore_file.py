"""Statements after the embedded metastore's file was restored from an older copy."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidSqlError
from acidsql.session.acid_session import AcidSession

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.fixture
def restored(empty: SparkSession, tmp_path: Path) -> SparkSession:
    """A session whose file is from before the rows 1, 2 and 3 of ``t`` and ``p`` were inserted.

    They lie in the base of a compaction, below which a new delta would be invisible.
    """
    copy, file = tmp_path / "copy.sqlite", tmp_path / "metastore.sqlite"
    acidsql.sql(empty, f"CREATE TABLE t (id INT) {ACID} LOCATION '{tmp_path}/t'")
    partitioned = f"PARTITIONED BY (k INT) {ACID} LOCATION '{tmp_path}/p'"
    acidsql.sql(empty, f"CREATE TABLE p (id INT) {partitioned}")
    acidsql.sql(empty, "ALTER TABLE p ADD PARTITION (k = 0)")
    AcidSession.of(empty).close()
    shutil.copy(file, copy)
    for number in (1, 2, 3):
        acidsql.sql(empty, f"INSERT INTO t VALUES ({number})")
        acidsql.sql(empty, f"INSERT INTO p PARTITION (k = 0) VALUES ({number})")
    acidsql.sql(empty, "ALTER TABLE t COMPACT 'major'")
    acidsql.sql(empty, "ALTER TABLE p PARTITION (k = 0) COMPACT 'major'")
    AcidSession.of(empty).close()
    for path in tmp_path.glob("metastore.sqlite*"):
        path.unlink()
    shutil.copy(copy, file)
    return empty


def ids(spark: SparkSession, table: str) -> list[int]:
    return [row.id for row in acidsql.sql(spark, f"SELECT id FROM {table} ORDER BY id").collect()]


@pytest.mark.parametrize(
    ("statement", "rows"),
    [
        ("INSERT INTO t VALUES (4)", [1, 2, 3, 4]),
        ("INSERT INTO p PARTITION (k = 0) VALUES (4)", [1, 2, 3, 4]),
        ("UPDATE t SET id = 30 WHERE id = 3", [1, 2, 30]),
        ("DELETE FROM t WHERE id = 2", [1, 3]),
        ("TRUNCATE TABLE t", []),
    ],
)
def test_statements_learn_the_write_ids_first(
    restored: SparkSession, statement: str, rows: list[int]
) -> None:
    acidsql.sql(restored, statement)
    assert ids(restored, "p" if " p " in statement else "t") == rows


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "condition", "rows"),
    [
        ("INSERT INTO p VALUES (4, 0)", "WRITE_ID_IN_USE", [1, 2, 3, 4]),
        ("UPDATE p SET id = 30 WHERE id = 3", "ACID_NOT_ENOUGH_HISTORY", [1, 2, 30]),
    ],
)
def test_partitions_that_are_known_late_are_refused_once(
    restored: SparkSession, statement: str, condition: str, rows: list[int]
) -> None:
    with pytest.raises(AcidSqlError, match=condition):
        acidsql.sql(restored, statement)
    assert ids(restored, "p") == [1, 2, 3]
    acidsql.sql(restored, statement)
    assert ids(restored, "p") == rows
