"""Old versions of tables of a Hive Metastore."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import acidsql
from acidsql.errors import AcidAnalysisError
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def condition(client: Client, text: str) -> str:
    with pytest.raises(AcidAnalysisError) as caught:
        client.sql(text)
    return caught.value.condition


def test_versions(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    ann.sql("UPDATE t SET v = 'x' WHERE id = 1")
    ann.sql("DELETE FROM t WHERE id = 2")
    assert ann.sql("SELECT * FROM t VERSION AS OF 0") == []
    assert ann.sql("SELECT * FROM t VERSION AS OF 1") == [(1, "a"), (2, "b")]
    assert ann.sql("SELECT * FROM t VERSION AS OF 2") == [(1, "x"), (2, "b")]
    ann.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert ann.sql("SELECT * FROM t VERSION AS OF 3") == [(1, "x")]
    assert condition(ann, "SELECT * FROM t VERSION AS OF 2") == "HISTORY_NOT_AVAILABLE"
    assert condition(ann, "SELECT * FROM t VERSION AS OF 4") == "VERSION_NOT_FOUND"
    of_txn = "SELECT * FROM t VERSION AS OF 'txn 2'"
    assert condition(ann, of_txn) == "UNSUPPORTED_FEATURE.TIME_TRAVEL"


def test_times_are_told_by_files(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT) {ACID}")
    for number in (1, 2, 3):
        ann.sql(f"INSERT INTO t VALUES ({number})")
    history = ann.sql("DESCRIBE HISTORY t")
    times = {row[0]: row[1] for row in history}
    for number in (1, 2, 3):
        text = f"SELECT * FROM t TIMESTAMP AS OF TIMESTAMP '{times[number]}'"
        assert ann.sql(text) == [(n,) for n in range(1, number + 1)]
    future = "SELECT * FROM t TIMESTAMP AS OF now() + INTERVAL 1 HOUR"
    assert condition(ann, future) == "VERSION_NOT_FOUND"
    ann.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    first = f"SELECT * FROM t TIMESTAMP AS OF TIMESTAMP '{times[1]}'"
    assert condition(ann, first) == "HISTORY_NOT_AVAILABLE"


def test_restore_and_undo(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    ann.sql("UPDATE t SET v = 'x' WHERE id = 1")
    ann.sql("DELETE FROM t WHERE id = 2")
    ann.sql("INSERT INTO t VALUES (3, 'c', 3)")
    assert ann.sql("UNDO WRITE 3 OF t") == [(1, 0, 1)]
    assert ann.sql("SELECT * FROM t") == [(1, "x", 1), (2, "b", 2), (3, "c", 3)]
    assert ann.sql("RESTORE TABLE t TO VERSION AS OF 1") == [(5, 3, 2)]
    assert ann.sql("SELECT * FROM t") == [(1, "a", 1), (2, "b", 2)]
    assert ann.sql("RESTORE TABLE t TO VERSION AS OF 6") == [(0, 0, 0)]
    assert condition(ann, "UNDO WRITE 2 OF t") == "UNDO_CONFLICT"
    times = {row[0]: row[1] for row in ann.sql("DESCRIBE HISTORY t")}
    ann.sql(f"RESTORE TABLE t TO TIMESTAMP AS OF TIMESTAMP '{times[4]}'")
    assert ann.sql("SELECT * FROM t") == [(1, "x", 1), (3, "c", 3)]
    ann.sql("ALTER TABLE t PARTITION (p = 1) COMPACT 'major' AND WAIT")
    assert condition(ann, "RESTORE TABLE t TO VERSION AS OF 1") == "HISTORY_NOT_AVAILABLE"
    assert condition(ann, "UNDO WRITE 2 OF t") == "HISTORY_NOT_AVAILABLE"
    assert ann.sql("SHOW LOCKS") == []


def test_a_retention_that_the_server_does_not_know(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT) {ACID}")
    with pytest.warns(UserWarning, match=r"hive\.compactor\.delayed\.cleanup\.enabled"):
        ann.sql("ALTER TABLE t SET TBLPROPERTIES ('acidsql.history.retention'='7d')")


def test_changes(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    ann.sql("UPDATE t SET v = 'x' WHERE id = 1")
    columns = "SELECT id, v, _change_type FROM table_changes"
    update = [(1, "a", "delete"), (1, "x", "insert")]
    assert ann.sql(f"{columns}('t', 2)") == update
    first = [(1, "a", "insert"), (2, "b", "insert")]
    assert ann.sql(f"{columns}('t', 1, 1)") == first
    paired = [(1, "a", "update_preimage"), (1, "x", "update_postimage")]
    assert ann.sql(f"{columns}('t', 2, keys => 'id')") == paired
    timed = "SELECT count(_commit_timestamp) FROM table_changes('t', 1)"
    assert ann.sql(timed) == [(4,)]
    seen = acidsql.changes_since(ann.spark, "t", None)
    assert len(seen.rows.collect()) == 2
    ann.sql("DELETE FROM t WHERE id = 2")
    news = acidsql.changes_since(ann.spark, "t", seen.checkpoint)
    assert [(row.id, row._change_type) for row in news.rows.collect()] == [(2, "delete")]
    ann.sql("ALTER TABLE t COMPACT 'major' AND WAIT")
    assert condition(ann, "SELECT * FROM table_changes('t', 2)") == "HISTORY_NOT_AVAILABLE"
    assert acidsql.changes_since(ann.spark, "t", news.checkpoint).rows.collect() == []
