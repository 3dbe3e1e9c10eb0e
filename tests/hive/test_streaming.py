"""Tests that Hive reads what a streaming client writes, also while its batch is open."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hdfs import InsecureClient

from acidsql.streaming import StreamingConnection, connect
from tests.hdfs.conftest import Hdfs
from tests.hive.hive import Hive
from tests.streaming.dying_client import killed

pytestmark = pytest.mark.hive

Connect = Callable[..., StreamingConnection]
MODES = ("true", "false")  # hive.vectorized.execution.enabled


@pytest.fixture
def stream(hive: Hive) -> Connect:
    """Return ``connect`` for tables of the tests' Hive."""

    def open_connection(table: str, **options: Any) -> StreamingConnection:
        return connect(
            metastore=hive.uri, table=table, time_zone="UTC", synchronous=False, **options
        )

    return open_connection


def _rows(hive: Hive, query: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query; check that Hive's two ways of reading agree."""
    found = []
    for mode in MODES:
        hive.run(f"SET hive.vectorized.execution.enabled={mode}")
        hive.run(f"SET hive.fetch.task.conversion={'more' if mode == 'true' else 'none'}")
        found.append(sorted(hive.run(query), key=str))
    assert found[0] == found[1]
    return found[0]


def test_hive_reads_an_open_batch(hive: Hive, stream: Connect, t: str) -> None:
    hive.run(
        f"CREATE TABLE {t} (id INT, s STRING, d DECIMAL(10,2), ts TIMESTAMP, m MAP<STRING,INT>) "
        "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    )
    record = {"d": 1.5, "ts": None, "m": {"k": 1}}
    with stream(t, transaction_batch_size=5) as connection:
        for number in (1, 2):
            with connection.transaction():
                connection.write({"id": number, "s": "x" * number, **record})
            assert _rows(hive, f"SELECT id, s, d, m['k'] FROM {t}") == [
                (str(n), "x" * n, "1.5", "1") for n in range(1, number + 1)
            ]
            assert hive.run(f"SELECT count(*) FROM {t}") == [(str(number),)]
        connection.begin()
        connection.write({"id": 3, **record})
        assert len(_rows(hive, f"SELECT id FROM {t}")) == 2
        connection.abort()
        hive.run(f"UPDATE {t} SET s = 'hive' WHERE id = 1")
        hive.run(f"DELETE FROM {t} WHERE id = 2")
        with connection.transaction():
            connection.write_all([{"id": n, **record} for n in range(10, 2010)])
        assert _rows(hive, f"SELECT id, s FROM {t} WHERE id < 12") == [
            ("1", "hive"), ("10", None), ("11", None),
        ]  # fmt: skip
        assert hive.run(f"SELECT count(*), max(id) FROM {t}") == [("2001", "2009")]
    for kind in ("minor", "major"):
        hive.compact(t, kind)
        assert hive.run(f"SELECT count(*), max(id) FROM {t}") == [("2001", "2009")]
    assert _rows(hive, f"SELECT id, s FROM {t} WHERE id < 11") == [("1", "hive"), ("10", None)]


def test_hive_finds_rows_in_their_partitions_and_buckets(
    hive: Hive, stream: Connect, t: str
) -> None:
    hive.run(
        f"CREATE TABLE {t} (id BIGINT, s STRING) PARTITIONED BY (p STRING, n INT) "
        "CLUSTERED BY (s, id) INTO 3 BUCKETS STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'bucketing_version'='2')"
    )
    values = [(n, f"s{n}", "a/b" if n % 2 else "", n % 3) for n in range(60)]
    columns = dict(zip(("id", "s", "p", "n"), map(list, zip(*values, strict=True)), strict=True))
    with stream(t, transaction_batch_size=3) as connection:
        with connection.transaction():
            connection.write(pa.table(columns))
        found = _rows(hive, f"SELECT id, s, p, n FROM {t}")
        assert found == sorted(
            ((str(i), s, p or "__HIVE_DEFAULT_PARTITION__", str(n)) for i, s, p, n in values),
            key=str,
        )
        # Hive reads only the file of the bucket, and numbers the rows in it as it would itself.
        hive.run(f"INSERT INTO {t} SELECT id + 1000, s, p, n FROM {t}")
        assert hive.run(
            f"SELECT count(*) FROM (SELECT INPUT__FILE__NAME f, s FROM {t}) x "
            "WHERE f NOT LIKE '%bucket_0000%'"
        ) == [("0",)]
        with connection.transaction():
            connection.write((5000, "late", "a/b", 1))
        hive.run(f"DELETE FROM {t} WHERE id = 5000 OR id = 7")
    assert hive.run(f"SELECT count(*), count(DISTINCT s) FROM {t}") == [("119", "60")]
    assert hive.run(f"SHOW PARTITIONS {t}")[-1] == ("p=a%2Fb/n=2",)


def test_hive_compacts_the_batch_of_a_killed_client(hive: Hive, stream: Connect, t: str) -> None:
    hive.run(f"CREATE TABLE {t} (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    left_open = killed(hive.uri, t)
    assert _rows(hive, f"SELECT id FROM {t}") == [("1",), ("2",)]
    for txn_id in left_open:  # as the reaper does it
        hive.call("abort_txn", txn_id)
    with stream(t) as connection, connection.transaction():
        connection.write((4,))
    hive.compact(t, "minor")
    assert _rows(hive, f"SELECT id FROM {t}") == [("1",), ("2",), ("4",)]
    assert _directories(hive, t) == ["delta_0000001_0000015"]
    hive.run(f"INSERT INTO {t} VALUES (5)")
    hive.compact(t, "major")
    assert _rows(hive, f"SELECT id FROM {t}") == [("1",), ("2",), ("4",), ("5",)]
    assert _directories(hive, t) == ["base_0000016"]


@pytest.mark.hdfs
def test_hive_reads_open_batches_on_hdfs(hive: Hive, hdfs: Hdfs, stream: Connect, t: str) -> None:
    hive.run(
        f"CREATE TABLE {t} (id INT, s STRING) PARTITIONED BY (p STRING) STORED AS ORC "
        f"LOCATION '{hdfs.uri}/hive/{t}' TBLPROPERTIES ('transactional'='true')"
    )
    storage = InsecureClient(hdfs.web, timeout=60)
    with stream(t, transaction_batch_size=4, storage=storage) as connection:
        for number in (1, 2):
            with connection.transaction():
                connection.write_all([(number, "x" * number, "a/b"), (number, None, "c")])
            expected = [
                row
                for n in range(1, number + 1)
                for row in ((str(n), "x" * n, "a/b"), (str(n), None, "c"))
            ]
            assert _rows(hive, f"SELECT id, s, p FROM {t}") == sorted(expected, key=str)
        connection.begin()
        connection.write((3, None, "c"))
        connection.abort()
        assert hive.run(f"SELECT count(*), max(id) FROM {t}") == [("4", "2")]
        hive.run(f"DELETE FROM {t} WHERE id = 2 AND p = 'c'")
        with connection.transaction():
            connection.write((4, "late", "c"))
        assert _rows(hive, f"SELECT id, s FROM {t} WHERE p = 'c'") == [("1", None), ("4", "late")]
    for kind in ("minor", "major"):
        hive.compact(t, kind, "p='c'")
        assert _rows(hive, f"SELECT id, s FROM {t} WHERE p = 'c'") == [("1", None), ("4", "late")]
    assert hive.run(f"SELECT count(*), max(id) FROM {t}") == [("4", "4")]


def _directories(hive: Hive, table: str) -> list[str]:
    """Return the names of a table's directories, without the transactions of compactions."""
    return sorted(path.name.partition("_v")[0] for path in (hive.warehouse / table).iterdir())
