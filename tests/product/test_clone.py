"""Tests of CREATE TABLE … CLONE."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import acidsql
from acidsql import bridge
from acidsql.compaction import merging
from acidsql.errors import AcidAnalysisError
from acidsql.storage.filesystem import FileSystem
from acidsql.storage.tails import read_tail

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


def _identified(lab: Lab, table: str) -> list[tuple[object, ...]]:
    return lab.rows(table, "row__id, *")


def _history(lab: Lab) -> str:
    """Make a table with rows in two deltas; two rows were deleted and one was updated."""
    table = lab.create("id INT, v STRING COMMENT 'words' DEFAULT 'x', p INT")
    lab.insert(table, "(1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    lab.insert(table, "(4, 'd', 2), (5, 'e', 3)")
    lab.sql(f"DELETE FROM {table} WHERE id IN (2, 5)")
    lab.sql(f"UPDATE {table} SET v = 'C' WHERE id = 3")
    return table


@pytest.mark.slow
def test_a_clone_has_rows_and_row_ids_and_goes_on_by_itself(lab: Lab) -> None:
    table = _history(lab)
    before = _identified(lab, table)
    assert lab.sql(f"CREATE TABLE {table}_c CLONE {table}") == [(3, 3)]
    assert _identified(lab, f"{table}_c") == before
    assert lab.directories(f"{table}_c") == ["base_0000005"]
    assert lab.sql(f"SHOW COLUMNS FROM {table}_c") == lab.sql(f"SHOW COLUMNS FROM {table}")
    lab.sql(f"UPDATE {table}_c SET v = 'new' WHERE id = 1")
    lab.sql(f"INSERT INTO {table}_c (id) VALUES (9)")
    changed = [(1, "new", 1), (3, "C", 2), (4, "d", 2), (9, "x", None)]
    assert lab.rows(f"{table}_c") == changed
    assert _identified(lab, table) == before
    lab.compact(f"{table}_c", "major")
    assert lab.rows(f"{table}_c") == changed
    assert lab.sql(f"CHECK TABLE {table}_c FULL") == []
    (last, *_) = [
        r for r in lab.frame(f"DESCRIBE HISTORY {table}_c").collect() if r.operation == "CLONE"
    ]
    assert last.operation == "CLONE"


@pytest.mark.slow
def test_a_clone_of_an_earlier_version(lab: Lab) -> None:
    table = _history(lab)
    versions = [_identified(lab, f"{table} VERSION AS OF {n}") for n in (2, 3)]
    lab.sql(f"CREATE TABLE {table}_2 CLONE {table} VERSION AS OF 2")
    assert _identified(lab, f"{table}_2") == versions[0]
    assert len(versions[0]) == 5
    # Of a merged delta with rows and events of later writes too.
    lab.compact(table, "minor")
    lab.sql(f"CREATE TABLE {table}_3 CLONE {table} VERSION AS OF '3'")
    assert _identified(lab, f"{table}_3") == versions[1]
    ((now,),) = lab.sql("SELECT cast(current_timestamp() AS STRING)")
    lab.sql(f"CREATE TABLE {table}_now CLONE {table} TIMESTAMP AS OF '{now}'")
    assert _identified(lab, f"{table}_now") == _identified(lab, table)
    with pytest.raises(AcidAnalysisError, match="VERSION_NOT_FOUND"):
        lab.sql(f"CREATE TABLE {table}_bad CLONE {table} VERSION AS OF 99")


def test_a_clone_of_a_partitioned_and_bucketed_table(lab: Lab, tmp_path: Path) -> None:
    table = lab.create(
        "id INT, v STRING",
        partitioned="p INT, q STRING",
        clustered="(id) INTO 2 BUCKETS",
        properties={"orc.compress": "ZLIB", "mine": "1"},
    )
    lab.insert(
        table, "(1, 'a', 1, NULL), (2, 'b', 1, 'x/y'), (3, 'c', 2, 'x/y'), (4, 'd', 2, 'x/y')"
    )
    lab.sql(f"DELETE FROM {table} WHERE id = 1")
    lab.sql(f"ALTER TABLE {table} ADD PARTITION (p = 9, q = 'empty')")
    lab.sql(
        f"CREATE TABLE {table}_c CLONE {table} LOCATION '{tmp_path}/c' TBLPROPERTIES ('mine'='2')"
    )
    assert _identified(lab, f"{table}_c") == _identified(lab, table)
    assert lab.sql(f"SHOW PARTITIONS {table}_c") == lab.sql(f"SHOW PARTITIONS {table}")
    assert lab.root(f"{table}_c") == tmp_path / "c"
    made = lab.session.metastore.table("default", f"{table}_c")
    assert (made.bucket_columns, made.num_buckets) == (("id",), 2)
    assert made.properties["mine"] == "2"
    assert made.properties["orc.compress"] == "ZLIB"
    assert {file.codec for file in lab.files(f"{table}_c").values()} == {"ZLIB"}


def test_stripes_are_copied_byte_for_byte(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    table = lab.create("id BIGINT")
    lab.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id FROM range(1000)")

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("a stripe was decoded")

    monkeypatch.setattr(merging, "write_buckets_of", refuse)
    monkeypatch.setattr(bridge, "rewrite_stripes", refuse)
    lab.sql(f"CREATE TABLE {table}_c CLONE {table}")
    (old,) = lab.root(table).rglob("bucket_*")
    (new,) = lab.root(f"{table}_c").rglob("bucket_*")
    (stripe,) = read_tail(lab.session.files, f"file:{old}").stripes
    end = stripe.offset + stripe.index_length + stripe.data_length
    assert new.read_bytes()[stripe.offset : end] == old.read_bytes()[stripe.offset : end]


@pytest.mark.slow
def test_original_files_and_columns_of_partitions(lab: Lab, tmp_path: Path) -> None:
    table = lab.create("id INT", partitioned="p INT")
    lab.spark.sql("SELECT 1 AS id UNION ALL SELECT 2").coalesce(1).write.orc(f"{tmp_path}/files")
    lab.sql(f"LOAD DATA INPATH '{tmp_path}/files' INTO TABLE {table} PARTITION (p = 1)")
    lab.sql(f"INSERT INTO {table} VALUES (3, 2)")
    lab.sql(f"ALTER TABLE {table} ADD COLUMNS (v STRING) RESTRICT")
    lab.sql(f"CREATE TABLE {table}_c CLONE {table}")
    assert _identified(lab, f"{table}_c") == _identified(lab, table)
    lab.sql(f"UPDATE {table}_c SET v = 'x'")
    assert lab.rows(f"{table}_c") == [(1, "x", 1), (2, "x", 1), (3, "x", 2)]


def test_an_empty_table(lab: Lab) -> None:
    table = lab.create("id INT")
    assert lab.sql(f"CREATE TABLE {table}_c DEEP CLONE {table}") == [(0, 0)]
    lab.sql(f"INSERT INTO {table}_c VALUES (1)")
    assert lab.rows(f"{table}_c") == [(1,)]
    assert lab.sql(f"CREATE TABLE IF NOT EXISTS {table}_c CLONE {table}") == []


def test_nothing_is_left_of_a_clone_that_fails(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    table = _history(lab)
    rename = FileSystem.rename

    def fail(files: FileSystem, source: str, target: str) -> None:
        if "/base_" in target:
            raise OSError("no space left")
        rename(files, source, target)

    monkeypatch.setattr(FileSystem, "rename", fail)
    with pytest.raises(OSError, match="no space left"):
        lab.sql(f"CREATE TABLE {table}_c CLONE {table}")
    assert lab.session.metastore.find_table("default", f"{table}_c") is None
    assert not (lab.root(table).parent / f"{table}_c").exists()


@pytest.mark.parametrize(
    ("clauses", "condition"),
    [
        ("CREATE TABLE {0}_c SHALLOW CLONE {0}", "UNSUPPORTED_FEATURE.SHALLOW_CLONE"),
        ("CREATE OR REPLACE TABLE {0}_c CLONE {0}", "UNSUPPORTED_FEATURE.OR_REPLACE"),
        ("REPLACE TABLE {0}_c CLONE {0}", "UNSUPPORTED_FEATURE.REPLACE_TABLE"),
        ("CREATE EXTERNAL TABLE {0}_c CLONE {0}", "UNSUPPORTED_FEATURE.EXTERNAL"),
        ("CREATE TABLE {0} CLONE {0}", "TABLE_OR_VIEW_ALREADY_EXISTS"),
        ("CREATE TABLE {0}_c CLONE {0}_nowhere", "TABLE_OR_VIEW_NOT_FOUND"),
        ("CREATE TABLE {0}_c CLONE {0} LOCATION '{1}'", "LOCATION_IN_USE"),
        (
            "CREATE TABLE {0}_c CLONE {0} TBLPROPERTIES ('transactional'='false')",
            "INVALID_TABLE_PROPERTY",
        ),
        (
            "CREATE TABLE {0}_c CLONE {0} TBLPROPERTIES ('orc.compress'='gzip')",
            "INVALID_TABLE_PROPERTY",
        ),
    ],
)
def test_what_is_refused(lab: Lab, clauses: str, condition: str) -> None:
    table = lab.create("id INT")
    with pytest.raises(AcidAnalysisError) as caught:
        lab.sql(clauses.format(table, lab.root(table)))
    assert caught.value.getCondition() == condition
    assert lab.session.metastore.find_table("default", f"{table}_c") is None


def test_a_clone_in_a_transaction_is_refused(lab: Lab) -> None:
    table = lab.create("id INT")
    with pytest.raises(acidsql.errors.TransactionStateError), acidsql.transaction(lab.spark):
        lab.sql(f"CREATE TABLE {table}_c CLONE {table}")
