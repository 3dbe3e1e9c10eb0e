"""Tests that the Hive of the tests is real, not shared and reachable from this machine only."""

from __future__ import annotations

import socket

import pytest

from tests.hive.hive import Hive, HiveError, transaction_left_open
from tests.metastore.server.launcher import answers

pytestmark = pytest.mark.hive


def test_rows_keep_their_values(hive: Hive) -> None:
    hive.run(
        "CREATE TABLE harness_values (s STRING, a ARRAY<STRUCT<d:DATE,n:DECIMAL(2,1)>>, "
        "m MAP<INT,TIMESTAMP>, b BINARY, c CHAR(4), f FLOAT) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive.run(
        "INSERT INTO harness_values SELECT 'ž\\n', "
        "array(named_struct('d', DATE '2024-02-29', 'n', 1.5)), "
        "map(7, TIMESTAMP '2024-02-29 12:34:56.789'), CAST('xyz' AS BINARY), 'ab', NULL"
    )
    for conversion in ("more", "none"):
        hive.run(f"SET hive.fetch.task.conversion={conversion}")
        assert hive.run("SELECT *, row__id FROM harness_values") == [
            (
                "ž\n",
                [["2024-02-29", "1.5"]],
                [["7", "2024-02-29 12:34:56.789"]],
                "78797a",
                "ab  ",
                None,
                ["1", "536870912", "0"],
            )
        ]


def test_errors_are_raised_with_hives_code(hive: Hive) -> None:
    with pytest.raises(HiveError, match="nosuch") as caught:
        hive.run("SELECT * FROM nosuch")
    assert caught.value.code == 10001  # ErrorMsg.INVALID_TABLE
    with pytest.raises(HiveError) as caught:
        hive.call("commit_txn", 123_456_789)
    assert "NoSuchTxnException" in str(caught.value)
    assert hive.run("SELECT 1") == [("1",)]


def test_sessions_have_transactions_of_their_own(hive: Hive) -> None:
    hive.run(
        "CREATE TABLE harness_sessions (id INT) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    hive.run("START TRANSACTION", session="other")
    hive.run("INSERT INTO harness_sessions VALUES (1)", session="other")
    assert hive.run("SELECT * FROM harness_sessions") == []
    assert hive.run("SELECT * FROM harness_sessions", session="other") == [("1",)]
    hive.run("COMMIT", session="other")
    assert hive.run("SELECT * FROM harness_sessions") == [("1",)]


def test_compaction_runs_when_it_is_told_to(hive: Hive) -> None:
    hive.run(
        "CREATE TABLE harness_compaction (id INT) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    for number in range(2):
        hive.run(f"INSERT INTO harness_compaction VALUES ({number})")
    hive.compact("harness_compaction", "major")
    (directory,) = (hive.warehouse / "harness_compaction").iterdir()
    assert directory.name.startswith("base_0000002_v")


def test_metastore_listens_on_loopback_only(hive: Hive) -> None:
    assert hive.port is not None
    assert answers(hive.port)
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.2", hive.port), 2)


@pytest.mark.parametrize(
    ("message", "txn_id"),
    [
        ("Attempt to unlock lock 7 associated with transaction txnid:12 User", "12"),
        (
            "MetaException: Failed to execute function: commitTxn(CommitTxnRequest(txnid:1724)), "
            "details: A lock could not be obtained within the time requested; nested",
            "1724",
        ),
        (
            "MetaException: Failed to execute function: commitTxn(CommitTxnRequest(txnid:1724)), "
            "details: the disk is full",
            None,
        ),
        ("Aborting [txnid:9,0] due to a write conflict on default/t", None),
    ],
)
def test_a_commit_that_left_its_transaction_open_is_told(message: str, txn_id: str | None) -> None:
    assert transaction_left_open(message) == txn_id
