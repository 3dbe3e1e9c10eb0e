"""Walks through the core statements, for tests that run them elsewhere than in their own process.

``python tests/scenario.py MASTER HOME WALK [KEY=VALUE …]`` runs one in a session of its own.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from itertools import pairwise

from pyspark import TaskContext
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

import acidsql
from acidsql.format.bucket_codec import decode_bucket
from acidsql.format.names import OWNER_FILE, parse_directory
from acidsql.session.acid_session import AcidSession
from acidsql.storage.delete_files import RowId, read_events
from acidsql.storage.filesystem import child

_TABLE = "STORED AS ORC LOCATION '{location}' TBLPROPERTIES ('transactional'='true')"


def _rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(r) for r in acidsql.sql(spark, f"SELECT * FROM {table}").collect())


def _compact(spark: SparkSession, table: str, kind: str) -> int:
    """Compact a table that has no reader; the compactor's transaction."""
    acidsql.release(spark)
    acidsql.sql(spark, f"ALTER TABLE {table} COMPACT '{kind}' AND WAIT")
    entry = acidsql.sql(spark, f"SHOW COMPACTIONS {table}").collect()[0]
    assert (entry.type, entry.state) == (kind, "succeeded"), entry
    return int(entry.txnid)


def _problems(spark: SparkSession, table: str) -> list[object]:
    return list(acidsql.sql(spark, f"CHECK TABLE {table} FULL").collect())


def listing(spark: SparkSession, table: str) -> dict[str, list[int]]:
    """Return the bucket ids in each ACID directory of a table, by its relative path.

    Checks that there is nothing else but the file that says whose table it is, that every bucket
    has one file, sorted by key, and that its events belong to that bucket.
    """
    files = AcidSession.of(spark).files
    found: dict[str, list[int]] = {}

    def walk(path: str, below: str) -> None:
        for name in files.names(path):
            if name == OWNER_FILE:
                continue
            if not parse_directory(name):
                assert "=" in name, f"{path} holds {name}"
                walk(child(path, name), f"{below}{name}/")
                continue
            inside = files.names(child(path, name))
            assert inside[0] == "_orc_acid_version", inside
            found[below + name] = []
            for file in inside[1:]:
                bucket = int(file.removeprefix("bucket_"))
                assert file == f"bucket_{bucket:05d}"
                events = read_events(files, child(path, name, file)).select(RowId._fields)
                keys = [RowId(**event) for event in events.to_pylist()]
                assert keys, f"{name}/{file} is empty"
                assert all(a < b for a, b in pairwise(keys)), f"{name}/{file} is not sorted"
                assert {decode_bucket(key.bucket) for key in keys} == {bucket}
                found[below + name].append(bucket)

    walk(acidsql.location(spark, table), "")
    return found


def core(spark: SparkSession, root: str) -> None:
    """Run INSERT, UPDATE, DELETE, MERGE and both compactions, with and without partitions.

    Args:
        root: directory for the tables, as a path that Spark understands.
    """
    _plain(spark, root)
    _partitioned(spark, root)


def _plain(spark: SparkSession, root: str) -> None:
    table = _TABLE.format(location=f"{root}/plain")
    acidsql.sql(spark, f"CREATE TABLE plain (id INT, v STRING) {table}")
    acidsql.sql(spark, "INSERT INTO plain SELECT id, concat('v', id) FROM range(0, 1000, 1, 4)")
    acidsql.sql(spark, "UPDATE plain SET v = 'even' WHERE id % 2 = 0")
    acidsql.sql(spark, "DELETE FROM plain WHERE id >= 500")
    counts = acidsql.sql(
        spark,
        "MERGE INTO plain t USING (SELECT id * 100 AS id FROM range(20)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 'merged' WHEN NOT MATCHED THEN INSERT VALUES (s.id, "
        "'new')",
    ).head()
    assert (counts.num_updated_rows, counts.num_inserted_rows) == (5, 15)
    expected = sorted(
        [(i, "merged" if i % 100 == 0 else "even" if i % 2 == 0 else f"v{i}") for i in range(500)]
        + [(i * 100, "new") for i in range(5, 20)]
    )
    assert _rows(spark, "plain") == expected
    assert listing(spark, "plain") == {
        "delta_0000001_0000001_0000": [0, 1, 2, 3],
        "delete_delta_0000002_0000002_0000": [0, 1, 2, 3],
        "delta_0000002_0000002_0000": [0],
        # The rows of buckets 2 and 3 that were not updated, and those in the file of the UPDATE.
        "delete_delta_0000003_0000003_0000": [0, 2, 3],
        "delete_delta_0000004_0000004_0000": [0],
        "delta_0000004_0000004_0000": [0],
        "delta_0000004_0000004_0001": [0],
    }
    assert _problems(spark, "plain") == []
    txn_id = _compact(spark, "plain", "minor")
    assert _rows(spark, "plain") == expected
    assert listing(spark, "plain") == {
        f"delta_0000001_0000004_v{txn_id:07d}": [0, 1, 2, 3],
        f"delete_delta_0000001_0000004_v{txn_id:07d}": [0, 1, 2, 3],
    }
    txn_id = _compact(spark, "plain", "major")
    assert _rows(spark, "plain") == expected
    assert listing(spark, "plain") == {f"base_0000004_v{txn_id:07d}": [0, 1]}
    assert _problems(spark, "plain") == []
    acidsql.sql(spark, "DROP TABLE plain")


def _partitioned(spark: SparkSession, root: str) -> None:
    table = _TABLE.format(location=f"{root}/partitioned")
    acidsql.sql(spark, f"CREATE TABLE partitioned (id INT) PARTITIONED BY (p STRING) {table}")
    acidsql.sql(spark, "INSERT INTO partitioned SELECT id, concat('p ', id % 3) FROM range(9)")
    acidsql.sql(spark, "UPDATE partitioned SET p = 'moved' WHERE id = 4")
    acidsql.sql(spark, "DELETE FROM partitioned WHERE p = 'p 0'")
    kept = [(1, "p 1"), (2, "p 2"), (4, "moved"), (5, "p 2"), (7, "p 1"), (8, "p 2")]
    assert _rows(spark, "partitioned") == kept
    assert sorted(listing(spark, "partitioned")) == [
        "p=moved/delta_0000002_0000002_0000",
        "p=p 0/delete_delta_0000003_0000003_0000",
        "p=p 0/delta_0000001_0000001_0000",
        "p=p 1/delete_delta_0000002_0000002_0000",
        "p=p 1/delta_0000001_0000001_0000",
        "p=p 2/delta_0000001_0000001_0000",
    ]
    acidsql.release(spark)
    acidsql.sql(spark, "ALTER TABLE partitioned COMPACT 'major'")
    assert _rows(spark, "partitioned") == kept
    names = sorted(name.partition("_v")[0] for name in listing(spark, "partitioned"))
    assert names == [
        # Of a single delta nothing can be merged.
        "p=moved/delta_0000002_0000002_0000",
        "p=p 0/base_0000003",
        "p=p 1/base_0000002",
        "p=p 2/delta_0000001_0000001_0000",
    ]
    assert _problems(spark, "partitioned") == []
    acidsql.sql(spark, "DROP TABLE partitioned")


def retries(spark: SparkSession, root: str) -> None:
    """Make every writing task fail at its last row when it first runs.

    Each bucket must still have one file, and no row id may occur twice.
    """

    def flaky(value: int) -> int:
        """Fail the first attempt of a task when it meets a value that ends in 9."""
        context = TaskContext.get()
        if value % 10 == 9 and context is not None and context.attemptNumber() == 0:
            raise RuntimeError("flaky")
        return value

    def drawn(value: int) -> int:
        """Return another number each time, also of a task that runs again."""
        return flaky(value) * 0 + uuid.uuid4().int % (1 << 30)

    spark.udf.register("flaky", flaky, "int")
    spark.udf.register("drawn", udf(drawn, "int").asNondeterministic())
    table = _TABLE.format(location=f"{root}/flaky")
    acidsql.sql(spark, f"CREATE TABLE retried (id INT, v INT) {table}")
    acidsql.sql(spark, "INSERT INTO retried SELECT flaky(id), 0 FROM range(0, 40, 1, 4)")
    assert listing(spark, "retried") == {"delta_0000001_0000001_0000": [0, 1, 2, 3]}
    acidsql.sql(spark, "UPDATE retried SET v = flaky(id) + 1 WHERE id % 10 > 6")
    acidsql.sql(spark, "DELETE FROM retried WHERE flaky(id) % 10 = 0")
    acidsql.sql(
        spark,
        "MERGE INTO retried t USING (SELECT flaky(id) AS id FROM range(30, 50, 1, 2)) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = -1 WHEN NOT MATCHED THEN INSERT VALUES "
        "(s.id, -2)",
    )
    expected = sorted(
        [(i, i + 1 if i % 10 > 6 else 0) for i in range(30) if i % 10]
        + [(i, -1 if i % 10 and i < 40 else -2) for i in range(30, 50)]
    )
    for kind in (None, "minor", "major"):
        if kind is not None:
            _compact(spark, "retried", kind)
        assert _rows(spark, "retried") == expected
        ids = acidsql.sql(spark, "SELECT DISTINCT row__id FROM retried").count()
        assert ids == len(expected)
        listing(spark, "retried")
    written = acidsql.sql(spark, "UPDATE retried SET v = drawn(id), id = -drawn(id)").collect()
    assert [tuple(row) for row in written] == [(len(expected), len(expected))]
    rows = _rows(spark, "retried")
    assert len(rows) == len({i for i, _ in rows}) == len({v for _, v in rows}) == len(expected)
    assert _rows(spark, "retried") == rows
    assert _failed_tasks(spark) >= 6  # four of the INSERT, two of the MERGE's source at least
    acidsql.sql(spark, "DROP TABLE retried")


def _failed_tasks(spark: SparkSession) -> int:
    tracker = spark.sparkContext.statusTracker()
    jobs = [tracker.getJobInfo(job) for job in tracker.getJobIdsForGroup()]
    stages = [tracker.getStageInfo(stage) for job in jobs if job for stage in job.stageIds]
    return sum(stage.numFailedTasks for stage in stages if stage)


_WALKS: dict[str, Callable[[SparkSession, str], None]] = {"core": core, "retries": retries}


def main(master: str, home: str, walk: str, *settings: str) -> None:
    """Run a walk in a session of its own, tables and metastore below ``home``.

    Args:
        settings: of Spark; ``tables`` is another directory for the tables.
    """
    given = dict(setting.split("=", 1) for setting in settings)
    root = given.pop("tables", f"{home}/tables")
    builder = (
        SparkSession.builder.master(master)
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .config("spark.sql.warehouse.dir", f"{home}/warehouse")
        .config("spark.executor.memory", "512m")
    )
    for key, value in given.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    _WALKS[walk](spark, root)
    workers = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    print(f"{walk} passed with {workers} executors")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
