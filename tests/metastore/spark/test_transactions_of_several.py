"""Transactions of several statements on Hive Metastores."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

import acidsql
from acidsql.errors import WriteConflictError
from acidsql.metastore.model import LockState
from tests.metastore.server.launcher import VERSIONS
from tests.metastore.spark.conftest import Client

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_tables_and_partitions_commit_as_one(client: Callable[[str], Client], version: str) -> None:
    ann, bob = client(version), client(version)
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (k INT) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a')")
    with acidsql.transaction(ann.spark) as txn:
        txn.sql("INSERT INTO t VALUES (2, 'b')")
        txn.sql("UPDATE t SET v = concat(v, '!')")
        txn.sql("INSERT INTO p SELECT id, v, id FROM t")
        bob.sql("INSERT INTO t VALUES (3, 'bob')")
        txn.sql("DELETE FROM p WHERE k = 1")
        txn.sql("UPDATE p SET v = 'p' WHERE k = 2")
        assert ann.sql("SELECT * FROM t") == [(1, "a!"), (2, "b!")]
        assert ann.sql("SELECT * FROM p") == [(2, "p", 2)]
        assert bob.sql("SELECT * FROM t") == [(1, "a"), (3, "bob")]
        assert bob.sql("SELECT * FROM p") == []
    for one in (ann, bob):
        assert one.sql("SELECT * FROM t") == [(1, "a!"), (2, "b!"), (3, "bob")]
        assert one.sql("SELECT * FROM p") == [(2, "p", 2)]
    ann.sql("START TRANSACTION")
    ann.sql("INSERT INTO p VALUES (5, 'e', 5), (6, 'f', 2)")
    ann.sql("ROLLBACK")
    assert bob.sql("SELECT * FROM p") == [(2, "p", 2)]
    assert ("k=5",) not in bob.sql("SHOW PARTITIONS p")
    assert ann.session.metastore.locks() == ()


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_second_writer_of_a_table_fails_and_waits_for_nobody(
    client: Callable[[str], Client], version: str
) -> None:
    ann, bob = client(version), client(version)
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    ann.sql("START TRANSACTION")
    bob.sql("START TRANSACTION")
    ann.sql("UPDATE t SET v = 'ann' WHERE id = 1")
    begun = time.monotonic()
    bob.sql("INSERT INTO t VALUES (3, 'c')")
    if version.startswith("3"):  # its writers exclude each other
        with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
            bob.sql("UPDATE t SET v = 'bob' WHERE id = 2")
        assert all(lock.state is LockState.ACQUIRED for lock in bob.session.metastore.locks())
    else:
        bob.sql("UPDATE t SET v = 'bob' WHERE id = 2")
    ann.sql("COMMIT")
    # The server remembers what a statement was about to change, also if it has failed.
    with pytest.raises(WriteConflictError, match="CONCURRENT_WRITE"):
        bob.sql("COMMIT")
    expected = [(1, "ann"), (2, "b")]
    assert time.monotonic() - begun < ann.session.settings.lock_timeout
    assert bob.sql("SELECT * FROM t") == expected


def test_it_does_not_wait_for_who_waits_for_it(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql("START TRANSACTION")
    ann.sql("INSERT INTO t VALUES (1, 'a')")
    truncating = threading.Thread(target=bob.sql, args=("TRUNCATE TABLE t",))
    truncating.start()
    deadline = time.monotonic() + 60
    while all(lock.state is LockState.ACQUIRED for lock in ann.session.metastore.locks()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    ann.sql("INSERT INTO t VALUES (2, 'b')")  # under the lock that it has
    with pytest.raises(WriteConflictError, match="waits for this one"):
        ann.sql("UPDATE t SET v = 'c'")
    ann.sql("COMMIT")
    truncating.join(120)
    assert ann.sql("SELECT * FROM t") == []
