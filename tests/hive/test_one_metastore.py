"""acidsql and Hive at one metastore: the same tables, transactions, locks and queue."""

from __future__ import annotations

import shutil
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest
from pyspark.errors import AnalysisException

import acidsql
from acidsql.errors import TransactionStateError, WriteConflictError
from acidsql.metastore.model import LockState
from tests.hive.conftest import Ours
from tests.hive.hive import Hive, HiveError

pytestmark = [pytest.mark.hive, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
_WAITING_SECONDS = 60


def rows(hive: Hive, query: str) -> list[tuple[str | None, ...]]:
    return sorted(hive.run(query), key=str)


def test_what_we_make_is_hives_too(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(
        f"CREATE TABLE {t} (id INT NOT NULL, v STRING DEFAULT 'none' COMMENT 'text', "
        "s STRUCT<a: INT, b: ARRAY<DECIMAL(5, 2)>>) COMMENT 'ours' "
        f"PARTITIONED BY (p STRING) {ACID}"
    )
    ours.sql(
        f"INSERT INTO {t} VALUES (1, 'a', named_struct('a', 1, 'b', array(1.5)), 'x/y'), "
        "(2, 'b', NULL, NULL)"
    )
    assert rows(hive, f"SHOW PARTITIONS {t}") == [
        ("p=__HIVE_DEFAULT_PARTITION__",),
        ("p=x%2Fy",),
    ]
    assert rows(hive, f"SELECT id, v, s.b[0], p FROM {t}") == [
        ("1", "a", "1.5", "x/y"),
        ("2", "b", None, "__HIVE_DEFAULT_PARTITION__"),
    ]
    described = {row[0].strip(): row for row in hive.run(f"DESCRIBE FORMATTED {t}")}
    assert described["Owner:"][1].strip() == ours.session.user
    assert described["Table Type:"][1].strip() == "MANAGED_TABLE"
    assert described["v"][2].strip() == "text"
    # Hive keeps our constraints, and changes our rows.
    hive.run("SET hive.vectorized.execution.enabled=false")  # its error would not say why
    hive.run(f"INSERT INTO {t} (id, p) VALUES (3, 'new')")
    with pytest.raises(HiveError, match="NOT NULL|not null"):
        hive.run(f"INSERT INTO {t} (v, p) VALUES ('x', 'new')")
    hive.run(f"UPDATE {t} SET v = 'hive' WHERE id = 1")
    hive.run(f"DELETE FROM {t} WHERE id = 2")
    assert ours.sql(f"SELECT id, v, p FROM {t}") == [(1, "hive", "x/y"), (3, "none", "new")]
    hive.run(f"ALTER TABLE {t} ADD COLUMNS (extra DOUBLE)")
    ours.sql(f"UPDATE {t} SET extra = 0.5 WHERE id = 3")
    assert rows(hive, f"SELECT id, extra FROM {t}") == [("1", None), ("3", "0.5")]
    hive.run(f"DROP TABLE {t}")
    assert ours.session.metastore.find_table("default", t) is None


def test_hive_reads_what_we_replace(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    hive.run(f"INSERT INTO {t} PARTITION (p = 1) VALUES (1, 'a'), (2, 'b')")
    ours.sql(f"INSERT INTO {t} VALUES (3, 'c', 2)")
    ours.sql(
        f"CREATE OR REPLACE TABLE {t} PARTITIONED BY (p) COMMENT 'new' AS "
        f"SELECT id, upper(v) AS v, p FROM {t} WHERE p = 1"
    )
    assert rows(hive, f"SELECT id, v, p FROM {t}") == [("1", "A", "1"), ("2", "B", "1")]
    hive.run(f"UPDATE {t} SET v = 'hive' WHERE id = 1")
    ours.sql(f"INSERT INTO {t} REPLACE WHERE id > 1 VALUES (4, 'd', 1), (5, 'e', 2)")
    ours.sql(f"INSERT INTO {t} REPLACE USING (id) SELECT 5 AS id, 'E' AS v, 3 AS p")
    found = [("1", "hive", "1"), ("4", "d", "1"), ("5", "E", "3")]
    assert rows(hive, f"SELECT id, v, p FROM {t}") == found
    hive.run(f"DELETE FROM {t} WHERE id = 4")
    assert ours.sql(f"SELECT id, v, p FROM {t}") == [(1, "hive", 1), (5, "E", 3)]


def test_what_hive_makes_is_ours_too(ours: Ours, hive: Hive, t: str) -> None:
    hive.run(f"CREATE DATABASE db_{t}")
    name = f"db_{t}.{t}"
    hive.run(
        f"CREATE TABLE {name} (id INT NOT NULL ENABLE, v STRING DEFAULT 'none', n INT) "
        "CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'orc.bloom.filter.columns'='id,v')"
    )
    hive.run(f"INSERT INTO {name} VALUES (1, 'a', 1), (2, 'b', 2)")
    assert ours.sql(f"SELECT * FROM {name}") == [(1, "a", 1), (2, "b", 2)]
    ours.sql(f"INSERT INTO {name} (id, n) VALUES (3, 3)")
    with pytest.raises(Exception, match="NOT_NULL|NULL"):
        ours.sql(f"INSERT INTO {name} VALUES (NULL, 'x', 1)")
    ours.sql(f"UPDATE {name} SET n = n * 10 WHERE id > 1")
    assert rows(hive, f"SELECT * FROM {name}") == [
        ("1", "a", "1"),
        ("2", "b", "20"),
        ("3", "none", "30"),
    ]
    # Managed tables of a database lie elsewhere than its external ones.
    ours.sql(f"CREATE TABLE db_{t}.other (id INT) {ACID}")
    place = hive.warehouse / f"db_{t}.db" / "other"
    assert acidsql.location(ours.spark, f"db_{t}.other") == f"file:{place}"
    hive.run(f"CREATE VIEW db_{t}.w AS SELECT id, n FROM {name} WHERE n > 5")
    assert ours.sql(f"SELECT * FROM db_{t}.w") == [(2, 20), (3, 30)]
    hive.run(f"CREATE EXTERNAL TABLE db_{t}.plain (id INT) STORED AS ORC")
    assert ("other",) in [row[1:2] for row in ours.sql(f"SHOW TABLES IN db_{t}")]
    assert ("plain",) not in [row[1:2] for row in ours.sql(f"SHOW TABLES IN db_{t}")]
    assert ours.session.metastore.find_table(f"db_{t}", "plain") is None
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        ours.sql(f"UPDATE db_{t}.plain SET id = 1")


def test_count_is_never_answered_from_what_was_counted_before(
    ours: Ours, hive: Hive, t: str
) -> None:
    for key in ("hive.stats.autogather", "hive.compute.query.using.stats"):
        hive.run(f"SET {key}=true", session="counting")

    def count(where: str = "") -> str | None:
        ((answer,),) = hive.run(f"SELECT count(*) FROM {t} {where}", session="counting")
        plan = "\n".join(
            r[0] or ""
            for r in hive.run(f"EXPLAIN SELECT count(*) FROM {t} {where}", session="counting")
        )
        from_statistics.append("TableScan" not in plan)
        return str(answer)

    from_statistics: list[bool] = []
    hive.run(f"CREATE TABLE {t} (id INT) PARTITIONED BY (p INT) {ACID}", session="counting")
    hive.run(f"INSERT INTO {t} VALUES (1, 1), (2, 1), (3, 2), (5, 2)", session="counting")
    assert (count(), from_statistics.pop()) == ("4", True)
    ours.sql(f"INSERT INTO {t} VALUES (4, 1)")
    assert (count(), from_statistics.pop()) == ("5", False)
    assert (count("WHERE p = 2"), from_statistics.pop()) == ("2", True)
    ours.sql(f"DELETE FROM {t} WHERE id = 3")
    assert (count("WHERE p = 2"), from_statistics.pop()) == ("1", False)
    hive.run(f"ANALYZE TABLE {t} PARTITION (p) COMPUTE STATISTICS", session="counting")
    assert (count(), from_statistics.pop()) == ("4", True)
    ours.sql(f"TRUNCATE TABLE {t} PARTITION (p = 1)")
    assert (count(), from_statistics.pop()) == ("1", False)
    plain = f"{t}_plain"
    hive.run(f"CREATE TABLE {plain} (id INT) {ACID}", session="counting")
    hive.run(f"INSERT INTO {plain} VALUES (1), (2)", session="counting")
    ours.sql(
        f"MERGE INTO {plain} USING (SELECT 9 AS id) s ON {plain}.id = s.id "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.id)"
    )
    assert hive.run(f"SELECT count(*), max(id) FROM {plain}", session="counting") == [("3", "9")]


def waiting_for_a_lock(ours: Ours) -> None:
    """Wait until somebody does."""
    deadline = time.monotonic() + _WAITING_SECONDS
    while not any(k.state is LockState.WAITING for k in ours.session.metastore.locks()):
        assert time.monotonic() < deadline
        time.sleep(0.1)


def test_hive_waits_for_us_and_nothing_is_lost(ours: Ours, hive: Hive, t: str) -> None:
    """Check that Hive's UPDATE with an EXCL_WRITE lock waits, and then sees our rows."""
    hive.run("SET hive.txn.xlock.write=true", session="excluding")
    ours.sql(f"CREATE TABLE {t} (id INT, n INT) PARTITIONED BY (p INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 0, 1), (2, 0, 2)")
    update = f"UPDATE {t} SET n = n + 10 WHERE p = 1"
    theirs: list[Future[object]] = []
    with ThreadPoolExecutor(1) as pool:

        def start(_: int) -> None:
            theirs.append(pool.submit(hive.run, update, session="excluding"))
            waiting_for_a_lock(ours)

        with ours.before_commit(start):
            ours.sql(f"UPDATE {t} SET n = n + 1 WHERE p = 1")
        theirs[0].result(_WAITING_SECONDS)
    assert rows(hive, f"SELECT id, n FROM {t}") == [("1", "11"), ("2", "0")]
    assert ours.sql(f"SELECT id, n FROM {t}") == [(1, 11), (2, 0)]


def test_we_wait_for_hive_and_nothing_is_lost(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT, n INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 0)")
    hive.run("SET hive.txn.xlock.write=true", session="slow")
    hive.run("START TRANSACTION", session="slow")
    with ThreadPoolExecutor(1) as pool:
        try:
            hive.run(f"UPDATE {t} SET n = n + 10", session="slow")
            done = pool.submit(ours.sql, f"UPDATE {t} SET n = n + 1")
            waiting_for_a_lock(ours)
            assert not done.done()
        finally:
            hive.commit("slow")
        assert done.result(_WAITING_SECONDS) == [(1, 1)]
    assert rows(hive, f"SELECT n FROM {t}") == [("11",)]


def test_later_committer_loses_where_neither_waits(ours: Ours, hive: Hive, t: str) -> None:
    """Check Hive's default, ``hive.txn.xlock.write`` false: both take the same lock."""
    ours.sql(f"CREATE TABLE {t} (id INT, n INT) PARTITIONED BY (p INT) {ACID}")
    ours.sql(f"INSERT INTO {t} VALUES (1, 0, 1), (2, 0, 2)")

    def overtake(_: int) -> None:
        hive.run(f"UPDATE {t} SET n = n + 10 WHERE p = 1", session="sharing")

    with (
        ours.before_commit(overtake),
        pytest.raises(WriteConflictError, match=rf"default\.{t}/p=1 .*by transaction \d+"),
    ):
        ours.sql(f"UPDATE {t} SET n = n + 1 WHERE p = 1")
    assert ours.sql(f"SELECT n FROM {t} WHERE p = 1") == [(10,)]
    hive.run("START TRANSACTION", session="sharing")
    hive.run(f"UPDATE {t} SET n = n + 100 WHERE p = 1", session="sharing")
    ours.sql(f"UPDATE {t} SET n = n + 1 WHERE p = 1")
    ours.sql(f"UPDATE {t} SET n = n + 1 WHERE p = 2")
    with pytest.raises(HiveError, match="write conflict"):
        hive.run("COMMIT", session="sharing")
    assert rows(hive, f"SELECT id, n FROM {t}") == [("1", "11"), ("2", "1")]


def test_what_a_dead_client_left_is_nothing_to_hive(
    ours: Ours, hive: Hive, t: str, tmp_path: Path
) -> None:
    """Check directories of a transaction that was aborted as the reaper does it."""
    ours.sql(f"CREATE TABLE {t} (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    for p in (1, 2):
        ours.sql(f"INSERT INTO {t} VALUES ({p}, 'a', {p}), ({p + 2}, 'b', {p})")
    before = ours.identified(t)
    place, copy = hive.warehouse / t, tmp_path / "copy"

    def die(txn_id: int) -> None:
        shutil.copytree(place, copy)
        hive.call("abort_txn", txn_id)

    statements = (
        f"UPDATE {t} SET v = 'dead' WHERE id < 3",
        f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT 7, 'dead'",
        f"INSERT INTO {t} VALUES (8, 'dead', 3)",
    )
    for statement in statements:
        with (
            ours.before_commit(die),
            pytest.raises(TransactionStateError, match="TXN_ABORTED"),
        ):
            ours.sql(statement)
        shutil.copytree(copy, place, dirs_exist_ok=True)
        shutil.rmtree(copy)
    left = {path.name for path in (place / "p=1").iterdir()}
    assert {"delta_0000003_0000003_0000", "base_0000004"} < left
    assert ours.identified(t) == before
    hive.run(f"UPDATE {t} SET v = 'alive' WHERE id IN (1, 2)")
    ours.sql(f"DELETE FROM {t} WHERE id = 4")
    after = ours.identified(t)
    assert [row for _, row in after] == [("3", "b", "1"), ("1", "alive", "1"), ("2", "alive", "2")]
    acidsql.release(ours.spark)
    hive.compact(t, "major", "p = 1")
    hive.compact(t, "major", "p = 2")
    assert ours.identified(t) == after
    assert [p.name[:12] for p in (place / "p=1").iterdir()] == ["base_0000006"]


def test_inserts_of_both_never_conflict(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) {ACID}")
    insert = f"INSERT INTO {t} VALUES (2)"
    with ours.before_commit(lambda _: hive.run(insert)):
        ours.sql(f"INSERT INTO {t} VALUES (1)")
    assert rows(hive, f"SELECT * FROM {t}") == [("1",), ("2",)]


def test_compaction_from_hive_is_done_by_us(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) PARTITIONED BY (p INT) {ACID}")
    for number in range(3):
        ours.sql(f"INSERT INTO {t} VALUES ({number}, 1)")
    hive.run(f"UPDATE {t} SET id = 7 WHERE id = 2")
    hive.run(f"ALTER TABLE {t} PARTITION (p = 1) COMPACT 'major'")
    done = acidsql.run_compaction(ours.spark)
    assert done is not None
    state = {row[0]: row[5] for row in hive.run("SHOW COMPACTIONS")}
    assert state[str(done)] == "ready for cleaning"
    place = hive.warehouse / t / "p=1"
    acidsql.release(ours.spark)
    hive.clean(t)
    left = sorted(p.name for p in place.iterdir())
    assert [name.partition("_v")[0] for name in left] == ["base_0000004"]
    assert ours.sql(f"SELECT * FROM {t}") == [(0, 1), (1, 1), (7, 1)]
    assert rows(hive, f"SELECT id FROM {t}") == [("0",), ("1",), ("7",)]


def test_cleaner_of_hive_waits_for_our_readers(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) {ACID}")
    for number in range(2):
        ours.sql(f"INSERT INTO {t} VALUES ({number})")
    frame = acidsql.sql(ours.spark, f"SELECT * FROM {t}")
    hive.compact(t, "major")
    place = hive.warehouse / t
    assert len([p for p in place.iterdir() if p.name.startswith("delta_")]) == 2
    assert sorted(frame.collect()) == [(0,), (1,)]
    del frame
    acidsql.release(ours.spark)
    hive.clean(t)
    (base,) = place.iterdir()
    assert base.name.startswith("base_")
    assert ours.sql(f"SELECT * FROM {t}") == [(0,), (1,)]


def test_our_compaction_keeps_what_a_reader_of_hive_needs(ours: Ours, hive: Hive, t: str) -> None:
    ours.sql(f"CREATE TABLE {t} (id INT) {ACID}")
    for number in range(2):
        ours.sql(f"INSERT INTO {t} VALUES ({number})")
    hive.run("START TRANSACTION", session="reading")
    assert rows(hive, f"SELECT * FROM {t}") == [("0",), ("1",)]
    assert len(hive.run(f"SELECT * FROM {t}", session="reading")) == 2
    acidsql.release(ours.spark)
    ((*_, state, _, _, _, _, _, _, _, _),) = ours.sql(f"ALTER TABLE {t} COMPACT 'major'")
    hive.clean(t)
    assert state == "ready for cleaning"
    assert len(list((hive.warehouse / t).iterdir())) == 3
    assert len(hive.run(f"SELECT * FROM {t}", session="reading")) == 2
    hive.run("COMMIT", session="reading")
    hive.clean(t)
    assert len(list((hive.warehouse / t).iterdir())) == 1
    assert rows(hive, f"SELECT * FROM {t}") == [("0",), ("1",)]
