"""Tests of the cost of statements: the calls that they send, in their order."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from acidsql.metastore.model import Partition
from tests.metastore.server.launcher import MetastoreServer
from tests.metastore.spark.conftest import Calls, Client
from tests.metastore.subjects import connected

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
TABLE = ["get_table_req", "get_all_table_constraints"]
# What an UPDATE or DELETE is analysed by before its transaction begins.
ANALYSIS = ["get_table_req", "get_open_txns"]
# Six that a transaction needs, and the table again, which may have changed before the lock.
BEGIN = ["open_txns", "allocate_table_write_ids", "lock", "get_open_txns", "get_valid_write_ids"]
BEGIN += ["get_table_req"]
STATISTICS = ["get_table_req", "alter_table_req"]
PARTITION_STATISTICS = ["get_partitions_by_names", "alter_partitions_req"]


@pytest.fixture
def ann(client: Callable[[str], Client]) -> Client:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT, v STRING) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    ann.sql(f"CREATE TABLE p (id INT, v STRING) PARTITIONED BY (y INT) {ACID}")
    ann.sql("INSERT INTO p VALUES (1, 'a', 1), (2, 'b', 2)")
    ann.sql("SELECT * FROM p")  # asks for the server's settings, once in a session
    ann.session.leases.release()
    return ann


def sent(ann: Client, calls: Calls, statement: str) -> list[str]:
    """Return the calls of a statement when no table is cached."""
    ann.session.metastore._tables.definitions._known.clear()  # type: ignore[attr-defined]
    calls.clear()
    ann.sql(statement)
    return [name for name in calls.names if name not in ("heartbeat", "heartbeat_txn_range")]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE t SET v = 'x' WHERE id = 1",
        "DELETE FROM t WHERE id = 1",
        "INSERT INTO t VALUES (3, 'c')",
    ],
)
def test_write_to_a_table(ann: Client, calls: Calls, statement: str) -> None:
    analysis = [] if statement.startswith("INSERT") else ANALYSIS
    assert sent(ann, calls, statement) == [*TABLE, *analysis, *BEGIN, *STATISTICS, "commit_txn"]


def test_update_of_one_partition(ann: Client, calls: Calls) -> None:
    assert sent(ann, calls, "UPDATE p SET v = 'x' WHERE id = 1 AND y = 1") == [
        *TABLE,
        *ANALYSIS,
        *BEGIN,
        "get_partition_names",
        "get_partitions_by_names",  # to read
        "get_partitions_by_names",  # to write
        "add_dynamic_partitions",
        *PARTITION_STATISTICS,
        "commit_txn",
    ]


def test_insert_into_a_new_partition(ann: Client, calls: Calls) -> None:
    assert sent(ann, calls, "INSERT INTO p VALUES (7, 'g', 7)") == [
        *TABLE,
        *BEGIN,
        "get_partitions_by_names",
        "add_partitions_req",
        "add_dynamic_partitions",
        *PARTITION_STATISTICS,
        "commit_txn",
    ]


def test_update_of_nothing(ann: Client, calls: Calls) -> None:
    begin = [*TABLE, *ANALYSIS, *BEGIN]
    assert sent(ann, calls, "UPDATE t SET v = 'x' WHERE id = 99") == [*begin, "commit_txn"]
    # Nothing is registered in the place of what the lock announced.
    assert sent(ann, calls, "UPDATE p SET v = 'x' WHERE id = 99 AND y = 1") == [
        *begin,
        "get_partition_names",
        "get_partitions_by_names",
        "add_dynamic_partitions",
        "commit_txn",
    ]
    (name, (request,)) = calls.sent[-2]
    assert (name, request.partitionnames) == ("add_dynamic_partitions", [])  # type: ignore[attr-defined]


def test_query(ann: Client, calls: Calls) -> None:
    snapshot = ["open_txns", "get_open_txns"]
    assert sent(ann, calls, "SELECT * FROM t") == [*TABLE, *snapshot, "get_valid_write_ids"]
    partitions = ["get_partition_names", "get_partitions_by_names"]
    expected = [*TABLE, *snapshot, *partitions, "get_valid_write_ids"]
    assert sent(ann, calls, "SELECT * FROM p WHERE y = 2") == expected


def test_truncate_names_all_partitions_at_once(ann: Client, calls: Calls) -> None:
    assert sent(ann, calls, "TRUNCATE TABLE p").count("add_dynamic_partitions") == 1


def test_partition_filter_fetches_the_matching_partitions(
    ann: Client, calls: Calls, metastore_server: Callable[[str], MetastoreServer]
) -> None:
    store = connected(metastore_server("4.1.0"))
    database = ann.spark.catalog.currentDatabase()
    place = store.table(database, "p").location
    many = [Partition(values=(str(i),), location=f"{place}/y={i}") for i in range(10, 10_000)]
    store.add_partitions(database, "p", many)
    store.close()
    ann.sql("INSERT INTO p VALUES (5, 'e', 5000)")

    def fetched() -> list[str]:
        return [
            name
            for call, arguments in calls.sent
            if call == "get_partitions_by_names"
            for name in arguments[2]  # type: ignore[attr-defined]
        ]

    calls.clear()
    assert ann.sql("SELECT id FROM p WHERE y = 5000") == [(5,)]
    assert fetched() == ["y=5000"]
    about_partitions = [name for name in calls.names if "partition" in name]
    assert about_partitions == ["get_partition_names", "get_partitions_by_names"]
    calls.clear()
    assert ann.sql("UPDATE p SET v = 'E' WHERE y BETWEEN 4999 AND 5001 AND id = 5") == [(1, 1)]
    assert sorted(set(fetched())) == ["y=4999", "y=5000", "y=5001"]
    assert len(fetched()) == 5  # to read; one of them to write, twice
