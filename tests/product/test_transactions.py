"""Tests of transactions of several statements: what they see, commit, take back and refuse."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException

import acidsql
from acidsql import bridge
from acidsql.errors import AcidSqlError, MetastoreError
from acidsql.format.bucket_codec import decode_statement
from acidsql.injection_points import Point, attached
from acidsql.metastore.model import LockState, TxnState, TxnType
from acidsql.storage.filesystem import FileSystem
from acidsql.transactions import write_transaction
from acidsql.transactions.current import transaction_mark
from acidsql.transactions.transaction import Transaction
from tests.limits import set_limits
from tests.product import jvm_death_program

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def ended(lab: Lab) -> Iterator[None]:
    """Roll back what a test has left open."""
    yield
    if transaction_mark(lab.spark):
        lab.sql("ROLLBACK")


def condition_of(run: Callable[[], Any]) -> str | None:
    """Return the condition of the error that something raises."""
    with pytest.raises(AcidSqlError) as caught:
        run()
    return str(caught.value.getCondition())


def writers(lab: Lab) -> int:
    """Return the number of open transactions that may write."""
    return sum(
        txn.state is TxnState.OPEN and txn.type is not TxnType.READ_ONLY
        for txn in lab.session.metastore.open_txns()
    )


@pytest.mark.slow
def test_statements_see_those_before_them_and_others_see_all_at_once(lab: Lab, other: Lab) -> None:
    a = lab.create("id INT, v STRING", values="(1, 'a'), (2, 'b')")
    p = lab.create("id INT, v STRING", partitioned="k INT")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {a} VALUES (3, 'c'), (4, 'd')")
    lab.sql(f"UPDATE {a} SET v = 'u' WHERE id IN (1, 3)")
    lab.sql(f"DELETE FROM {a} WHERE id = 4")
    lab.sql(
        f"MERGE INTO {a} USING (SELECT 3 AS id UNION ALL SELECT 9) s ON {a}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'm' WHEN NOT MATCHED THEN INSERT VALUES (s.id, 'n')"
    )
    lab.sql(
        f"FROM {a} INSERT INTO {p} SELECT id, v, 7 WHERE id = 9 INSERT INTO {p} SELECT id, v, 8"
    )
    lab.sql(f"UPDATE {p} SET v = 'z' WHERE k = 7")
    inside = [(1, "u"), (2, "b"), (3, "m"), (9, "n")]
    assert lab.rows(a) == inside
    assert lab.sql(f"SELECT count(*) FROM {a}") == [(4,)]
    assert lab.sql(f"SELECT id, v, k FROM {p} WHERE k = 7") == [(9, "z", 7)]
    assert other.rows(a) == [(1, "a"), (2, "b")]
    assert other.rows(p) == []
    lab.sql("COMMIT")
    assert other.rows(a) == lab.rows(a) == inside
    assert other.sql(f"SELECT count(*) FROM {p} WHERE k = 8") == [(4,)]
    assert {write_id for (write_id,) in lab.sql(f"SELECT row__id.writeid FROM {a}")} == {1, 2}
    # No delete event names a row of its own write id.
    events = [
        event
        for path, file in lab.files(a).items()
        if path.startswith("delete_delta_0000002")
        for event in file.events
    ]
    assert [event[1] for event in events] == [1]
    assert sum(len(f.events) for n, f in lab.files(a).items() if n.startswith("delta_0000002")) == 3
    for table in (a, p):
        assert acidsql.check(lab.spark, table, full=True).collect() == []
    (newest, _) = lab.frame(f"DESCRIBE HISTORY {a}").collect()
    assert newest.operation == "TRANSACTION"
    assert newest.statement.split(";\n")[0] == f"INSERT INTO {a} VALUES (3, 'c'), (4, 'd')"
    assert (newest.numInsertedRows, newest.numUpdatedRows, newest.numDeletedRows) == (3, 3, 1)
    assert newest.numFiles == len([n for n in lab.files(a) if "0000002_0000002" in n])


def _delete_and_fail(lab: Lab, table: str) -> None:
    with acidsql.transaction(lab.spark) as txn:
        txn.sql(f"DELETE FROM {table}")
        raise ZeroDivisionError


@pytest.mark.slow
def test_rollback_leaves_nothing(lab: Lab) -> None:
    t = lab.create("id INT", partitioned="k INT", values="(1, 1)")
    before = lab.state(t)
    with acidsql.transaction(lab.spark) as txn:
        txn.sql(f"INSERT INTO {t} VALUES (2, 1), (3, 2)")
        txn.sql(f"DELETE FROM {t} WHERE id = 1")
        assert lab.rows(t) == [(2, 1), (3, 2)]
        frames = [txn.table(t), txn.sql(f"SELECT count(*) FROM {t} WHERE k = 1")]
        txn.rollback()
    assert lab.state(t) == before
    for frame in frames:  # they would show what never was committed
        with pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST|FileNotFound"):
            frame.collect()
    with pytest.raises(ZeroDivisionError):
        _delete_and_fail(lab, t)
    assert lab.state(t) == before
    assert condition_of(lambda: txn.sql("SELECT 1")) == "NO_ACTIVE_TRANSACTION"


def test_a_delete_alone_is_not_shown_after_its_rollback(lab: Lab) -> None:
    t = lab.create("id INT", values="(1), (2)")
    lab.sql("BEGIN")
    lab.sql(f"DELETE FROM {t} WHERE id = 1")
    rows, count = lab.frame(f"SELECT * FROM {t}"), lab.frame(f"SELECT count(*) FROM {t}")
    assert [tuple(row) for row in rows.collect()] == [(2,)]
    lab.sql("ROLLBACK")
    for frame in (rows.select("id"), count):
        with pytest.raises(Py4JJavaError, match="FILE_NOT_EXIST|FileNotFound"):
            frame.collect()


def test_all_queries_see_the_tables_as_of_the_beginning(lab: Lab, other: Lab) -> None:
    a = lab.create("id INT", values="(1)")
    b = lab.create("id INT", values="(1)")
    lab.sql("START TRANSACTION READ ONLY")
    other.sql(f"INSERT INTO {a} VALUES (2)")
    other.sql(f"DELETE FROM {b}")
    other.compact(b, "major")
    assert lab.rows(a) == lab.rows(b) == [(1,)]
    frame = lab.frame(f"SELECT * FROM {b}")
    assert condition_of(lambda: lab.sql(f"DELETE FROM {a}")) == "READ_ONLY_TRANSACTION"
    lab.sql("COMMIT WORK")
    other.sql("SHOW TABLES")
    acidsql.run_cleaner(other.spark)
    assert frame.collect()[0].id == 1  # its lease keeps the files
    assert lab.rows(a) == [(1,), (2,)]
    assert lab.rows(b) == []


@pytest.mark.slow
def test_a_failed_statement_takes_back_itself_alone(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id INT, v INT", partitioned="k INT")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {t} VALUES (1, 0, 1), (2, 1, 2)")
    tree = lab.tree(t)
    with pytest.raises(PySparkException, match="broken"):
        lab.sql(f"UPDATE {t} SET v = CAST(raise_error('broken') AS INT) WHERE k = 2")
    original, places = FileSystem.rename, []

    def rename(files: FileSystem, source: str, target: str) -> None:
        if "/k=" in target and "delta_" in target:
            places.append(target)
            if len(places) == 3:
                raise OSError("disk full")
        original(files, source, target)

    with monkeypatch.context() as patched:
        patched.setattr(FileSystem, "rename", rename)
        with pytest.raises(OSError, match="disk full"):
            lab.sql(f"UPDATE {t} SET v = v + 10")
    assert len(places) == 3
    assert [name for name in lab.tree(t) if "_acidsql_staging" not in name] == [
        name for name in tree if "_acidsql_staging" not in name
    ]
    lab.sql(f"UPDATE {t} SET v = v + 1 WHERE k = 2")
    lab.sql("COMMIT")
    assert lab.rows(t) == [(1, 0, 1), (2, 2, 2)]
    assert not [name for name in lab.tree(t) if "staging" in name]


def test_the_first_to_commit_wins(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v INT", values="(1, 0), (2, 0)")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {t} VALUES (3, 0)")
    lab.sql(f"UPDATE {t} SET v = 1 WHERE id = 1")
    other.sql(f"UPDATE {t} SET v = 2 WHERE id = 1")
    assert lab.sql(f"SELECT v FROM {t} WHERE id = 1") == [(1,)]
    assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
    assert lab.rows(t) == [(1, 2), (2, 0)]
    assert condition_of(lambda: lab.sql("ROLLBACK")) == "NO_ACTIVE_TRANSACTION"
    assert not [name for name in lab.directories(t) if "0000002_0000002" in name]
    assert writers(lab) == 0


@pytest.fixture
def overwrites(lab: Lab, other: Lab) -> Iterator[Callable[[str], Any]]:
    """Yield what begins an INSERT OVERWRITE of a table by (2) in a thread, which goes on when
    somebody waits for it, and returns the function that waits for its end.
    """
    has_lock = threading.Event()

    def wait_until_somebody_waits(transaction: Transaction) -> None:
        if transaction.session is not other.session:
            return
        has_lock.set()
        while all(lock.state is LockState.ACQUIRED for lock in lab.session.metastore.locks()):
            time.sleep(0.01)

    def start(table: str) -> Callable[[], None]:
        text = f"INSERT OVERWRITE {table} VALUES (2)"
        thread = threading.Thread(target=other.sql, args=[text])
        thread.start()
        assert has_lock.wait(60)
        return thread.join

    with attached(Point.BEFORE_WRITE_IDS, wait_until_somebody_waits):
        yield start


def test_an_insert_that_waits_for_an_overwrite_writes_beside_its_base(
    lab: Lab, overwrites: Callable[[str], Any]
) -> None:
    t = lab.create("id INT", values="(1)")
    with acidsql.transaction(lab.spark) as txn:
        end = overwrites(t)
        txn.sql(f"INSERT INTO {t} VALUES (3)")
        end()
        assert sorted(map(tuple, txn.table(t).collect())) == [(1,), (3,)]
    assert {"base_0000002", "delta_0000003_0000003_0000"} < set(lab.directories(t))
    assert lab.rows(t) == [(2,), (3,)]


def test_a_change_that_waits_for_an_overwrite_is_a_conflict(
    lab: Lab, overwrites: Callable[[str], Any]
) -> None:
    t = lab.create("id INT", values="(1)")
    lab.sql("START TRANSACTION")
    end = overwrites(t)
    lab.sql(f"DELETE FROM {t}")
    end()
    assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
    assert lab.rows(t) == [(2,)]


def test_what_cannot_be_taken_back_is_refused(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    name = f"{t}_new"
    assert condition_of(lambda: lab.sql("COMMIT")) == "NO_ACTIVE_TRANSACTION"
    lab.sql("BEGIN TRANSACTION READ WRITE")
    frame = lab.spark.range(1).selectExpr("CAST(id AS INT) AS id")
    table = acidsql.AcidTable.forName(lab.spark, t)
    refused: list[Callable[[], Any]] = [
        lambda: table.overwrite(frame),
        lambda: acidsql.transaction(lab.spark),
        lambda: acidsql.run_compaction(lab.spark),
    ]
    texts = [
        "START TRANSACTION",
        f"CREATE TABLE {name} (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
        f"CREATE TABLE {name} USING parquet AS SELECT 1 AS id",
        f"INSERT OVERWRITE {t} VALUES (2)",
        f"FROM {t} INSERT OVERWRITE TABLE {t} SELECT id",
        f"TRUNCATE TABLE {t}",
        f"DROP TABLE {t}",
        f"ALTER TABLE {t} ADD COLUMNS (v INT)",
        f"ALTER TABLE {t} COMPACT 'major'",
        f"ANALYZE TABLE {t} COMPUTE STATISTICS",
        f"LOAD DATA LOCAL INPATH '/nowhere' INTO TABLE {t}",
        f"CHECK TABLE {t} REPAIR",
        f"VACUUM {t}",
        f"CREATE DATABASE {name}",
        "EXECUTE IMMEDIATE 'INSERT INTO nowhere VALUES (1)'",
    ]
    refused += [partial(lab.sql, text) for text in texts]
    for run in refused:
        assert condition_of(run) == "NOT_ALLOWED_IN_TRANSACTION"
    lab.sql(f"CREATE TEMPORARY VIEW {name} AS SELECT * FROM {t}")
    lab.sql("SET spark.sql.shuffle.partitions = 2")
    table.append(frame)
    assert lab.rows(name) == [(0,), (1,)]
    lab.sql("COMMIT")
    lab.sql(f"DROP VIEW {name}")
    assert lab.rows(t) == [(0,), (1,)]


def test_an_abort_by_somebody_else_ends_in_a_rollback(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    before = lab.state(t)
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {t} VALUES (2)")
    assert transaction_mark(lab.spark) == "*"
    opened = lab.session.metastore.open_txns()
    txn_id = max(txn.txn_id for txn in opened if txn.type is TxnType.DEFAULT)
    other.sql(f"ABORT TRANSACTIONS {txn_id}")
    for text in (f"SELECT * FROM {t}", f"INSERT INTO {t} VALUES (3)"):
        assert condition_of(partial(lab.sql, text)) == "TXN_ABORTED"
    assert transaction_mark(lab.spark) == "!"
    lab.sql("ROLLBACK")
    assert transaction_mark(lab.spark) == ""
    assert lab.state(t) == before


def test_a_transaction_belongs_to_its_thread_and_to_its_handle(lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    seen: list[Any] = []

    def in_thread(work: Callable[[], Any]) -> None:
        thread = threading.Thread(target=lambda: seen.append(work()))
        thread.start()
        thread.join()

    with acidsql.transaction(lab.spark) as txn:
        txn.sql(f"INSERT INTO {t} VALUES (2)")
        in_thread(lambda: lab.rows(t))
        in_thread(lambda: sorted(map(tuple, txn.table(t).collect())))
    assert seen == [[(1,)], [(1,), (2,)]]
    # One that is left behind by its thread is rolled back when a statement notices.
    in_thread(lambda: [lab.sql("START TRANSACTION"), lab.sql(f"DELETE FROM {t}")])
    assert writers(lab) == 1
    assert lab.rows(t) == [(1,), (2,)]
    assert writers(lab) == 0


def test_the_end_of_a_session_rolls_back(new_lab: Callable[..., Lab], lab: Lab) -> None:
    t = lab.create("id INT", values="(1)")
    before = lab.state(t)
    other = new_lab()
    other.sql("START TRANSACTION")
    other.sql(f"DELETE FROM {t}")
    other.session.close()
    assert lab.state(t) == before


def test_statement_ids_count_on_up_to_a_limit(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = lab.create("id INT")
    lab.sql("START TRANSACTION")
    for number in range(3):
        lab.sql(f"INSERT INTO {t} VALUES ({number})")
    buckets = lab.sql(f"SELECT row__id.bucketid FROM {t} ORDER BY id")
    assert [decode_statement(bucket) for (bucket,) in buckets] == [0, 1, 2]
    monkeypatch.setattr(write_transaction, "MAX_STATEMENT_ID", 2)
    assert condition_of(lambda: lab.sql(f"INSERT INTO {t} VALUES (3)")) == "TOO_MANY_STATEMENTS"
    lab.sql("COMMIT")
    assert lab.directories(t) == [f"delta_0000001_0000001_000{i}" for i in range(3)]


def test_transactions_that_change_different_rows_both_commit(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v INT", values="(1, 0), (2, 0), (3, 0)")
    lab.sql("START TRANSACTION")
    lab.sql(f"UPDATE {t} SET v = 1 WHERE id = 1")
    lab.sql(f"UPDATE {t} SET v = v + 1 WHERE id = 1")
    other.sql(f"UPDATE {t} SET v = 9 WHERE id = 2")
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    lab.sql("COMMIT")
    assert lab.rows(t) == [(1, 2), (2, 9)]


@pytest.mark.parametrize("isolation", ["snapshot", "serializable"])
def test_a_query_of_a_serializable_transaction_must_stay_true(
    lab: Lab, other: Lab, isolation: str
) -> None:
    t = lab.create("id INT, v INT", values="(1, 0), (2, 0)")
    total = lab.create("v INT")
    lab.spark.conf.set("spark.acidsql.isolation", isolation)
    try:
        lab.sql("START TRANSACTION")
        (found,) = lab.sql(f"SELECT sum(v) FROM {t}")
        other.sql(f"UPDATE {t} SET v = 5 WHERE id = 2")
        lab.sql(f"INSERT INTO {total} VALUES ({found[0]})")
        if isolation == "snapshot":
            lab.sql("COMMIT")
            assert lab.rows(total) == [(0,)]
        else:
            assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
            assert lab.rows(total) == []
    finally:
        lab.spark.conf.unset("spark.acidsql.isolation")


def test_a_transaction_ends_when_the_jvm_has_died(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that neither the methods of a transaction nor the thread of heartbeats need the JVM."""
    t = lab.create("id INT", values="(1)")
    before = lab.state(t)
    session = lab.session

    def open_transaction() -> acidsql.TransactionHandle:
        monkeypatch.undo()
        opened = acidsql.transaction(lab.spark)
        opened.sql(f"INSERT INTO {t} VALUES (2)")
        assert len(session.metastore.locks()) == before.locks + 1
        monkeypatch.setattr(bridge, "has_jvm", lambda _: False)
        return opened

    own = open_transaction()
    assert condition_of(own.commit) == "TXN_ABORTED"
    assert not own.is_open
    own = open_transaction()
    own.rollback()
    assert not own.is_open
    own = open_transaction()
    session.look()
    assert not own.is_open
    with acidsql.connect(lab.spark) as connection:
        monkeypatch.undo()
        connection.cursor().execute(f"INSERT INTO {t} VALUES (2)")
        monkeypatch.setattr(bridge, "has_jvm", lambda _: False)
        connection.rollback()
        monkeypatch.undo()
    assert lab.state(t) == before


@pytest.mark.repeated
def test_a_transaction_whose_jvm_is_killed_leaves_nothing(tmp_path: Path) -> None:
    program = [sys.executable, "-m", jvm_death_program.__name__, str(tmp_path)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300, check=True)
    told = json.loads(done.stdout)
    assert told.pop("raised") != "AssertionError"
    assert told == {"before": [2, 1], "after": [0, 0], "files": []}


def test_an_abort_that_fails_is_tried_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch, before_commit: Callable[[Callable[[], Any]], None]
) -> None:
    """Check that the locks of a failed statement stay no longer than what kept it from ending."""
    t = lab.create("id INT", values="(1)")
    metastore = lab.session.metastore
    locks, ended = len(metastore.locks()), metastore.abort_txn

    def fail(*_: Any) -> None:
        raise MetastoreError("METASTORE_UNAVAILABLE", "database or disk is full")

    def fill() -> None:
        monkeypatch.setattr(metastore, "abort_txn", fail)
        fail()

    before_commit(fill)
    assert condition_of(lambda: lab.sql(f"DELETE FROM {t}")) == "METASTORE_UNAVAILABLE"
    assert len(metastore.locks()) == locks + 1
    assert lab.rows(t) == [(1,)]
    assert len(metastore.locks()) == locks + 1
    monkeypatch.setattr(metastore, "abort_txn", ended)
    assert lab.rows(t) == [(1,)]
    assert len(metastore.locks()) == locks


@pytest.mark.slow
def test_changes_that_a_serializable_transaction_reads_up_to_now_must_stay_true(
    lab: Lab, other: Lab
) -> None:
    t = lab.create("id INT", values="(1)")
    total = lab.create("v INT")
    seen = acidsql.changes_since(lab.spark, t, None).checkpoint
    with lab.settings(spark__acidsql__isolation="serializable"):
        for arguments, grows in ((f"since => '{seen}'", True), ("1, 1", False), ("1", True)):
            lab.sql("START TRANSACTION")
            lab.sql(f"SELECT count(*) FROM table_changes('{t}', {arguments})")
            lab.sql(f"INSERT INTO {total} VALUES (1)")
            lab.sql("COMMIT")  # no other transaction has written
            lab.sql("START TRANSACTION")
            lab.sql(f"SELECT count(*) FROM table_changes('{t}', {arguments})")
            other.insert(t, "(2)")
            lab.sql(f"INSERT INTO {total} VALUES (2)")
            if grows:
                assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
            else:
                lab.sql("COMMIT")
    assert lab.rows(total) == [(1,), (1,), (1,), (2,)]


@pytest.mark.repeated
def test_rows_that_a_rebalance_has_moved_are_a_conflict(lab: Lab, other: Lab) -> None:
    t = lab.create("id INT, v INT", values="(1, 0), (2, 0)")
    other.sql(f"INSERT INTO {t} VALUES (3, 0)")
    lab.sql("START TRANSACTION")
    assert len(lab.rows(t)) == 3
    other.sql(f"ALTER TABLE {t} COMPACT 'rebalance'")
    lab.sql(f"UPDATE {t} SET v = 1 WHERE id = 3")
    assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
    assert lab.rows(t) == [(1, 0), (2, 0), (3, 0)]


@pytest.mark.repeated
def test_spark_takes_out_the_rows_where_they_are_many(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    t = lab.create("id INT, v INT", partitioned="p INT")
    lab.sql("START TRANSACTION")
    lab.sql(f"INSERT INTO {t} SELECT CAST(id AS INT), 0, CAST(id % 2 AS INT) FROM range(50)")
    lab.sql(f"UPDATE {t} SET v = 1 WHERE id % 5 = 0")
    lab.sql(f"DELETE FROM {t} WHERE id % 3 = 0")
    expected = lab.rows(t, "*, row__id")
    set_limits(monkeypatch, compaction_events=0, driver_events=0)
    lab.sql("COMMIT")
    assert lab.rows(t, "*, row__id") == expected
    assert not [name for name in lab.tree(t) if "delete_delta" in name]
    assert acidsql.check(lab.spark, t, full=True).collect() == []


@pytest.mark.repeated
def test_merges_that_insert_conflict_also_within_transactions(lab: Lab, other: Lab) -> None:
    unique = {"acidsql.merge.unique": "id"}
    t = lab.create("id INT, v INT", partitioned="p INT", properties=unique, values="(1, 0, 1)")
    merge = (
        f"MERGE INTO {t} USING (SELECT 9 AS k) s ON {t}.id = s.k "
        "WHEN NOT MATCHED THEN INSERT VALUES (s.k, 0, 2)"
    )
    lab.sql("START TRANSACTION")
    lab.sql(merge)
    lab.sql(f"UPDATE {t} SET v = 1 WHERE p = 1")
    other.sql(merge)
    assert condition_of(lambda: lab.sql("COMMIT")) == "CONCURRENT_WRITE"
    assert lab.rows(t) == [(1, 0, 1), (9, 0, 2)]
