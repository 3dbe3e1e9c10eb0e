"""Streaming ingest into tables on a real HDFS, without Spark; Spark reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hdfs import InsecureClient
from pyspark.sql import SparkSession

import acidsql
import acidsql.streaming
from acidsql.errors import FormatError
from acidsql.session.acid_session import AcidSession
from acidsql.storage.hdfs_files import HdfsFiles
from tests.hdfs.conftest import Hdfs
from tests.streaming.dying_client import killed

pytestmark = [pytest.mark.spark, pytest.mark.hdfs]


class Lake:
    """Tables on HDFS, and a metastore of their own."""

    def __init__(self, spark: SparkSession, hdfs: Hdfs, home: Path) -> None:
        self.spark = spark.newSession()
        self.metastore = str(home / "metastore.sqlite")
        self.spark.conf.set("spark.acidsql.metastore", self.metastore)
        self.hdfs = hdfs
        self.place = f"{hdfs.uri}/streams/{home.name}"
        self.storage = InsecureClient(hdfs.web, timeout=60)

    def create(self, columns: str, clauses: str = "") -> None:
        """Create a table ``t``."""
        self.sql(
            f"CREATE TABLE t ({columns}) {clauses} STORED AS ORC LOCATION '{self.place}' "
            "TBLPROPERTIES ('transactional' = 'true')"
        )

    def connect(self, **options: Any) -> acidsql.streaming.StreamingConnection:
        """Connect to it."""
        return acidsql.streaming.connect(
            metastore=self.metastore, table="t", storage=self.storage, **options
        )

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        """Run a statement; its rows, sorted by text."""
        return sorted((tuple(row) for row in acidsql.sql(self.spark, text).collect()), key=repr)

    def names(self, *below: str) -> list[str]:
        """Return the names of files and directories, but hidden ones."""
        found = AcidSession.of(self.spark).files.names("/".join([self.place, *below]))
        return [name for name in found if not name.startswith("_")]


@pytest.fixture
def lake(hdfs_spark: SparkSession, hdfs: Hdfs, tmp_path: Path) -> Iterator[Lake]:
    """Yield an empty one."""
    made = Lake(hdfs_spark, hdfs, tmp_path)
    yield made
    AcidSession.of(made.spark).close()


def test_each_commit_is_read_while_its_batch_is_open(lake: Lake) -> None:
    lake.create("id INT, s STRING", "PARTITIONED BY (p STRING)")
    with lake.connect(transaction_batch_size=3) as connection:
        for number in range(4):
            with connection.transaction():
                connection.write_all([(number, "a", "x/y"), {"id": number, "p": "z"}])
            if number < 2:
                connection.begin()
                connection.write((-1, None, "z"))
                connection.abort()
                assert lake.sql("SELECT count(*), max(id), min(id) FROM t") == [
                    (2 * number + 2, number, 0)
                ]
        assert lake.names("p=z") == ["delta_0000001_0000003", "delta_0000004_0000006"]
    expected = [(n, s, p) for n in range(4) for s, p in (("a", "x/y"), (None, "z"))]
    assert lake.sql("SELECT id, s, p FROM t") == sorted(expected, key=repr)
    assert lake.sql("CHECK TABLE t FULL") == []
    lake.sql("ALTER TABLE t PARTITION (p = 'z') COMPACT 'major'")
    assert lake.sql("SELECT count(*), sum(id) FROM t") == [(8, 12)]


def test_a_client_that_is_killed_within_an_append_leaves_what_it_committed(lake: Lake) -> None:
    lake.create("id INT")
    left_open = killed(lake.metastore, "t", lake.hdfs.web)
    assert len(left_open) == 3
    assert lake.sql("SELECT id FROM t") == [(1,), (2,)]
    with lake.connect() as connection, connection.transaction():
        connection.write((4,))
    assert lake.sql("SELECT id FROM t") == [(1,), (2,), (4,)]
    assert lake.names("delta_0000001_0000005") == ["bucket_00000", "bucket_00000_flush_length"]
    # The data node closes the file when the connection breaks: no lease has to be recovered.
    path = f"{lake.place}/delta_0000001_0000005/bucket_00000"
    files, deadline = HdfsFiles(lake.storage), time.monotonic() + 20
    while True:
        try:
            files.append(path, b"", files.size(path))
            break
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.2)
    AcidSession.of(lake.spark).metastore.reap()
    lake.sql("ALTER TABLE t COMPACT 'minor'")
    acidsql.run_cleaner(lake.spark)
    assert lake.sql("SELECT id FROM t") == [(1,), (2,), (4,)]
    assert lake.sql("CHECK TABLE t FULL") == []


def test_files(lake: Lake) -> None:
    files = HdfsFiles(lake.storage)
    path = f"{lake.place}/p=a%2Fb c/é"
    assert files.version(path) is None
    assert files.names(lake.place) == ()
    files.write(path, b"ab")
    with pytest.raises(FileExistsError):
        files.write(path, b"cd")
    files.append(path, b"cd", 2)
    with pytest.raises(OSError, match="somebody else"):
        files.append(path, b"ef", 2)
    assert (files.read(path), files.size(path)) == (b"abcdef", 6)
    assert files.names(lake.place) == ("p=a%2Fb c",)
    assert AcidSession.of(lake.spark).files.names(f"{lake.place}/p=a%2Fb c") == ("é",)
    assert not files.delete_if_empty(f"{lake.place}/p=a%2Fb c")
    assert not files.move(path, f"{lake.place}/none/x")
    assert files.move(path, f"{lake.place}/x")
    with pytest.raises(FormatError, match="PATH_ALREADY_EXISTS"):
        files.move(f"{lake.place}/x", f"{lake.place}/p=a%2Fb c")
    assert files.delete_if_empty(f"{lake.place}/p=a%2Fb c")
    assert files.delete_if_empty(f"{lake.place}/p=a%2Fb c")
    with pytest.raises(FileNotFoundError):
        files.append(f"{lake.place}/none", b"x", 0)
    with pytest.raises(FileNotFoundError):
        files.check(f"{lake.place}/none")
    files.delete(lake.place)
    assert not files.exists(lake.place)
