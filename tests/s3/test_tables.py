"""Tables on a real server of S3's protocol, through S3A."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from pyarrow.fs import S3FileSystem
from pyspark.errors import PySparkException

import acidsql
import acidsql.streaming
from acidsql.errors import AcidAnalysisError
from acidsql.storage import object_store
from tests.limits import set_limits
from tests.s3.conftest import Client
from tests.s3.jars import class_path
from tests.s3.store import BUCKET, Store
from tests.scenario import core
from tests.scenario_runs import run_walk

pytestmark = [pytest.mark.s3, pytest.mark.spark]

_VERSION = "_orc_acid_version"


def test_core_statements_on_s3(client: Client) -> None:
    core(client.spark, f"s3a://{BUCKET}/core")
    assert client.store.files("core") == []


def test_files_reach_their_place_by_one_copy(client: Client) -> None:
    client.create("big", "id BIGINT, v STRING", orc__compress="NONE")
    with client.store.requests.counting() as made:
        client.sql("INSERT INTO big SELECT id, repeat(uuid(), 4) FROM range(0, 60000, 1, 1)")
    # What a task staged; the version file, and the file that says whose directory this is.
    assert made["put"] == 3
    # Begin, the copied part, end.
    assert made["multipart"] == 3
    assert made["get"] == 0
    assert client.store.files("big") == [
        "_acidsql_owner",
        f"delta_0000001_0000001_0000/{_VERSION}",
        "delta_0000001_0000001_0000/bucket_00000",
    ]
    assert client.sql("SELECT count(*), count(DISTINCT v), max(id) FROM big") == [
        (60000, 60000, 59999)
    ]
    assert client.sql("CHECK TABLE big FULL") == []


def test_the_upload_of_a_killed_client_is_found_and_aborted(client: Client) -> None:
    client.create("big", "id BIGINT, v STRING", orc__compress="NONE")
    client.sql("INSERT INTO big VALUES (-1, 'a')")
    parameters = client.spark.sparkContext._gateway.gateway_parameters
    order = {
        "port": parameters.port,
        "secret": parameters.auth_token,
        "settings": {**client.store.settings(), "spark.acidsql.metastore": client.metastore},
        "text": "INSERT INTO big SELECT id, repeat(uuid(), 4) FROM range(0, 60000, 1, 1)",
    }
    killed = subprocess.run(
        [sys.executable, "-m", "tests.s3.killed_client"],
        input=json.dumps(order),
        text=True,
        timeout=300,
        check=False,
    )
    assert killed.returncode == -signal.SIGKILL
    key = "big/delta_0000002_0000002_0000/bucket_00000"
    assert client.store.uploads() == [key]
    assert client.sql("SELECT * FROM big") == [(-1, "a")]
    found = client.sql("CHECK TABLE big")
    assert [row[3] for row in found if row[0] == "DEAD_UPLOAD"] == [f"s3a://{BUCKET}/{key}"]
    client.sql("CHECK TABLE big REPAIR")
    assert client.store.uploads() == []
    client.sql("INSERT INTO big VALUES (-2, 'b')")
    assert client.sql("SELECT count(*) FROM big") == [(2,)]
    acidsql.release(client.spark)
    client.sql("ALTER TABLE big COMPACT 'major' AND WAIT")
    assert client.sql("CHECK TABLE big FULL") == []
    left = {name.partition("/")[0].partition("_v")[0] for name in client.store.files("big")}
    assert left == {"base_0000004", "_acidsql_aside", "_acidsql_owner"}


def test_a_small_change_writes_its_files_and_nothing_else(client: Client) -> None:
    client.create("t", "id INT, v STRING")
    for number in range(10):
        client.sql(f"INSERT INTO t VALUES ({number}, 'a')")
    with client.store.requests.counting() as made:
        assert client.sql("UPDATE t SET v = 'b' WHERE id = 4") == [(1, 1)]
    assert made["list"] == 1
    assert made["put"] == 4
    # Of each file its reader reads the tail, the footer of the stripe, and the columns.
    assert made["head"] <= 10, made
    assert made["get"] <= 52, made
    assert set(made) <= {"list", "put", "head", "get"}
    with client.store.requests.counting() as made:
        client.sql("DELETE FROM t WHERE id = 5")
    assert (made["list"], made["put"]) == (1, 2)
    with client.store.requests.counting() as made:
        client.sql("INSERT INTO t VALUES (10, 'c')")
    assert made == Counter(list=1, put=2)


def test_a_query_lists_its_partitions_by_few_requests(client: Client) -> None:
    client.create("t", "id INT", partitioned="p INT")
    client.sql("INSERT INTO t VALUES (1, 0)")
    directory = "delta_0000001_0000001_0000"
    for name in (_VERSION, "bucket_00000"):
        content = client.store.read(f"t/p=0/{directory}/{name}")
        client.store.fill({f"t/p={p}/{directory}/{name}": content for p in range(1, 1000)})
    client.sql("MSCK REPAIR TABLE t")
    with client.store.requests.counting() as made:
        frame = acidsql.sql(client.spark, "SELECT * FROM t")
    metrics = acidsql.metrics(frame)
    assert metrics is not None
    assert metrics.files_read == 1000
    # 2001 files, 1000 at a time; and the tail of a file of each directory, once in a session.
    assert made == Counter(list=3, get=made["get"])
    assert 0 < made["get"] <= 1000
    with client.store.requests.counting() as made:
        acidsql.sql(client.spark, "SELECT * FROM t")
    assert made == Counter(list=3)
    # If few partitions are required, only these are listed.
    with client.store.requests.counting() as made:
        acidsql.sql(client.spark, "SELECT * FROM t WHERE p IN (7, 77, 777)")
    assert made == Counter(list=3)


def test_files_of_tasks_reach_their_place_by_few_requests(client: Client) -> None:
    client.create("t", "id BIGINT")
    client.sql("INSERT INTO t VALUES (-1)")
    with client.store.requests.counting() as made:
        client.sql("INSERT INTO t SELECT id FROM range(0, 1000, 1, 3)")
    # Of each of three files: what its task stages, and its copy; the version file.
    assert (made["put"], made["get"]) == (3 + 3 + 1, 3)
    assert (made["list"], made["head"]) == (3 * 2 + 1, 3 * 2 + 1)
    assert made["delete"] == 1


def test_compactions_and_the_cleaner_make_few_requests(client: Client) -> None:
    client.create("t", "id INT")
    for number in range(4):
        client.sql(f"INSERT INTO t VALUES ({number})")
    acidsql.release(client.spark)
    with client.store.requests.counting() as made:
        client.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert (made["put"], made["delete"]) == (2, 1), made
    assert made["list"] <= 8, made
    assert made["get"] <= 12, made
    with client.store.requests.counting() as made:
        client.sql("DROP TABLE t")
    # The files, and the object that S3A makes for the table's directory.
    assert made["delete"] == 2, made
    assert made["list"] <= 5, made


def test_partitions_buckets_and_overwrite(client: Client) -> None:
    client.create("p", "id INT", partitioned="p STRING")
    client.sql("INSERT INTO p SELECT id, concat('ä /:', id % 3) FROM range(9)")
    client.sql("INSERT OVERWRITE p PARTITION (p = 'ä /:1') SELECT 100")
    client.sql("DELETE FROM p WHERE p = 'ä /:2'")
    client.sql("ALTER TABLE p DROP PARTITION (p = 'ä /:0')")
    assert client.sql("SELECT * FROM p") == [(100, "ä /:1")]
    client.sql("TRUNCATE TABLE p")
    assert client.sql("SELECT * FROM p") == []
    client.sql(
        f"CREATE TABLE b (id INT) CLUSTERED BY (id) INTO 2 BUCKETS STORED AS ORC LOCATION "
        f"'s3a://{BUCKET}/b' TBLPROPERTIES ('transactional' = 'true')"
    )
    client.sql("INSERT INTO b SELECT id FROM range(0, 100, 1, 3)")
    assert client.sql("CHECK TABLE b FULL") == []
    assert client.sql("SELECT count(*), sum(id) FROM b") == [(100, 4950)]
    client.sql("DROP TABLE b")
    client.sql("DROP TABLE p")
    assert client.store.files("b") + client.store.files("p") == []


def test_delete_events_that_a_job_sorts(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    set_limits(monkeypatch, driver_events=10)
    client.create("t", "id INT, v INT")
    client.sql("INSERT INTO t SELECT id, 0 FROM range(0, 400, 1, 2)")
    client.sql("UPDATE t SET v = 1 WHERE id < 200")
    client.sql("DELETE FROM t WHERE id % 2 = 0")
    assert client.sql("SELECT count(*), sum(v) FROM t") == [(200, 100)]
    assert client.sql("CHECK TABLE t FULL") == []


def test_transactions_of_several_statements(client: Client) -> None:
    client.create("t", "id INT, v STRING")
    client.sql("INSERT INTO t VALUES (1, 'a')")
    with acidsql.transaction(client.spark):
        client.sql("INSERT INTO t VALUES (2, 'b'), (3, 'c')")
        client.sql("UPDATE t SET v = 'z' WHERE id = 2")
        client.sql("DELETE FROM t WHERE id IN (1, 3)")
    assert client.sql("SELECT * FROM t") == [(2, "z")]
    assert client.sql("CHECK TABLE t FULL") == []
    before = client.store.files("t")
    client.sql("START TRANSACTION")
    client.sql("INSERT INTO t VALUES (4, 'd')")
    client.sql("ROLLBACK")
    assert client.store.files("t") == before


def test_a_statement_that_fails_leaves_nothing(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.create("t", "id INT")
    client.sql("INSERT INTO t VALUES (1)")
    before = client.store.keys()
    with pytest.raises(PySparkException, match="too many"):
        client.sql(
            "INSERT INTO t SELECT if(id = 99, raise_error('too many'), id) FROM range(0, 100, 1, 2)"
        )
    assert client.store.keys() == before

    written: list[Any] = []
    complete = object_store.ObjectStoreFiles.complete

    def failing(files: object_store.ObjectStoreFiles, *given: Any) -> None:
        written.append(given)
        complete(files, *given)
        if len(written) == 2:
            raise OSError("no answer")

    monkeypatch.setattr(object_store.ObjectStoreFiles, "complete", failing)
    with pytest.raises(OSError, match="no answer"):
        client.sql("INSERT INTO t SELECT id FROM range(0, 100, 1, 2)")
    assert len(written) == 2
    assert client.store.keys() == before


def test_the_cleaner_removes_directories_and_uploads(client: Client) -> None:
    client.create("t", "id INT")
    for number in range(4):
        client.sql(f"INSERT INTO t VALUES ({number})")
    key = "t/delta_0000001_0000001_0000/bucket_00007"
    client.store.client.create_multipart_upload(Bucket=BUCKET, Key=key)
    (problem,) = client.sql("CHECK TABLE t")
    assert problem[:2] == ("DEAD_UPLOAD", "info")
    assert problem[3] == f"s3a://{BUCKET}/{key}"
    acidsql.release(client.spark)
    client.sql("ALTER TABLE t COMPACT 'minor' AND WAIT")
    assert client.sql("CHECK TABLE t") == []
    (directory,) = {name.partition("/")[0] for name in client.store.files("t")} - {"_acidsql_owner"}
    assert directory.startswith("delta_0000001_0000004_v")
    client.store.client.create_multipart_upload(Bucket=BUCKET, Key=key)
    client.sql("CHECK TABLE t REPAIR")
    assert "Uploads" not in client.store.client.list_multipart_uploads(Bucket=BUCKET)


def test_a_table_is_replaced(client: Client) -> None:
    client.create("t", "id INT, v STRING")
    client.sql("INSERT INTO t VALUES (1, 'a'), (2, 'b')")
    old = acidsql.table(client.spark, "t")
    client.sql("CREATE OR REPLACE TABLE t AS SELECT id + 10 AS id, v FROM t")
    assert client.sql("SELECT id, v FROM t ORDER BY id") == [(11, "a"), (12, "b")]
    places = {name.partition("/")[0] for name in client.store.files("t")} - {"_acidsql_owner"}
    assert places == {"delta_0000001_0000001_0000", "base_0000002"}
    client.sql("CREATE OR REPLACE TABLE t PARTITIONED BY (p) AS SELECT v, id % 2 AS p FROM t")
    assert client.sql("SELECT v, p FROM t ORDER BY v") == [("a", 1), ("b", 0)]
    assert sorted(tuple(row) for row in old.collect()) == [(1, "a"), (2, "b")]
    place = acidsql.location(client.spark, "t")
    assert place.startswith(f"s3a://{BUCKET}/t_acidsql_")
    del old
    acidsql.release(client.spark)
    client.sql("INSERT INTO t VALUES ('c', 1)")  # it deletes what is old
    assert client.store.keys("t/") == []
    assert client.sql("SELECT v, p FROM t ORDER BY v") == [("a", 1), ("b", 0), ("c", 1)]
    new = client.store.files(place.rpartition("/")[2])
    partitions = {"/".join(name.split("/")[:1]) for name in new} - {"_acidsql_owner"}
    assert partitions == {"p=0", "p=1"}
    assert client.sql("CHECK TABLE t FULL") == []
    client.sql("DROP TABLE t")
    assert client.store.keys("t") == []


def test_files_that_are_loaded_and_an_insert_only_table(client: Client) -> None:
    client.spark.range(5).selectExpr("CAST(id AS INT) AS id").coalesce(1).write.orc(
        f"s3a://{BUCKET}/load"
    )
    client.create("t", "id INT")
    client.sql(f"LOAD DATA INPATH 's3a://{BUCKET}/load' INTO TABLE t")
    assert client.store.files("load") == ["_SUCCESS"]
    client.sql("UPDATE t SET id = 10 WHERE id = 0")
    assert client.sql("SELECT sum(id) FROM t") == [(20,)]
    client.create("plain", "id INT", transactional_properties="insert_only")
    client.sql("INSERT INTO plain SELECT id FROM range(0, 10, 1, 2)")
    client.sql("INSERT INTO plain SELECT id FROM range(0, 10, 1, 2)")
    acidsql.release(client.spark)
    client.sql("ALTER TABLE plain COMPACT 'major' AND WAIT")
    assert client.sql("SELECT count(*), sum(id) FROM plain") == [(20, 90)]


def test_what_renames_on_other_file_systems(client: Client) -> None:
    root = f"s3a://{BUCKET}/named"
    client.sql(f"CREATE DATABASE named LOCATION '{root}'")
    client.sql(
        "CREATE TABLE named.t (id INT) PARTITIONED BY (p INT) STORED AS ORC "
        "TBLPROPERTIES ('transactional' = 'true')"
    )
    client.sql("INSERT INTO named.t VALUES (1, 1)")
    client.sql("ALTER TABLE named.t RENAME TO named.u")
    assert client.sql("SELECT * FROM named.u") == [(1, 1)]
    assert acidsql.location(client.spark, "named.u") == f"{root}/t"
    with pytest.raises(AcidAnalysisError, match="RENAME_PARTITION_ON_OBJECT_STORE"):
        client.sql("ALTER TABLE named.u PARTITION (p = 1) RENAME TO PARTITION (p = 2)")
    client.sql("UPDATE named.u SET p = 2")
    assert client.sql("SELECT * FROM named.u") == [(1, 2)]
    client.sql("DROP DATABASE named CASCADE")
    assert client.store.files("named") == []


def test_streaming_ingest(client: Client, tmp_path: Path) -> None:
    client.create("t", "id INT, s STRING", partitioned="p STRING")
    options: dict[str, Any] = {
        "metastore": tmp_path / "metastore.sqlite",
        "table": "t",
        "storage": S3FileSystem(
            endpoint_override=client.store.endpoint,
            access_key="key",
            secret_key="secret",
            region="us-east-1",
        ),
    }
    with pytest.raises(AcidAnalysisError, match="appended to") as raised:
        acidsql.streaming.connect(**options, transaction_batch_size=2)
    assert raised.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_BATCH"
    with acidsql.streaming.connect(**options) as connection:
        for number in (1, 2):
            with connection.transaction():
                connection.write_all([(number, "a", "x/y"), {"id": -number, "p": "z"}])
            assert client.sql("SELECT count(*), max(id), min(id) FROM t") == [
                (2 * number, number, -number)
            ]
        connection.begin()
        connection.write((3, "never", "z"))
        connection._buffer.convert_pending()
        connection._spill()
        connection.abort()
    version = ("_orc_acid_version", "bucket_00000")
    assert [key for key in client.store.files("t") if key.startswith("p=z/")] == [
        f"p=z/delta_000000{n}_000000{n}/{name}" for n in (1, 2) for name in version
    ]
    assert client.sql("SELECT * FROM t ORDER BY id") == [
        (-2, None, "z"), (-1, None, "z"), (1, "a", "x/y"), (2, "a", "x/y"),
    ]  # fmt: skip
    assert client.sql("CHECK TABLE t FULL") == []
    client.sql("ALTER TABLE t PARTITION (p = 'z') COMPACT 'major'")
    assert client.sql("SELECT count(*), sum(id) FROM t") == [(4, 0)]


def test_the_committer_of_the_cluster_plays_no_part(client: Client) -> None:
    settings = {
        "spark.sql.sources.commitProtocolClass": (
            "org.apache.spark.sql.execution.streaming.ManifestFileCommitProtocol"
        ),
        "spark.sql.sources.outputCommitterClass": (
            "org.apache.hadoop.mapreduce.lib.output.FileOutputCommitter"
        ),
        "mapreduce.outputcommitter.factory.scheme.s3a": (
            "org.apache.hadoop.fs.s3a.commit.S3ACommitterFactory"
        ),
        "fs.s3a.committer.name": "magic",
        "fs.s3a.committer.magic.enabled": "true",
    }
    for key, value in settings.items():
        client.spark.conf.set(key, value)
    client.create("t", "id INT", partitioned="p INT")
    begun = len(client.store.requests.log)
    client.sql("INSERT INTO t SELECT id, id % 2 FROM range(0, 100, 1, 3)")
    assert client.sql("SELECT count(*), sum(id) FROM t") == [(100, 4950)]
    log = client.store.requests.log[begun:]
    assert log
    assert not [line for line in log if "_temporary" in line or "__magic" in line]


def test_tasks_that_run_again(store: Store, tmp_path: Path) -> None:
    settings = {f"spark.hadoop.{key}": value for key, value in store.settings().items()}
    settings["spark.driver.extraClassPath"] = class_path()
    settings["tables"] = f"s3a://{BUCKET}/again"
    run_walk("local[2,4]", tmp_path, "retries", settings)
    assert store.files("again") == []


def test_a_transaction_that_changes_its_rows_in_several_partitions(client: Client) -> None:
    client.create("t", "id INT, v INT", partitioned="p INT")
    client.sql("INSERT INTO t SELECT id, id, id % 4 FROM range(40)")
    for v in (1000, 2000):
        client.sql("START TRANSACTION")
        client.sql(f"UPDATE t SET v = v + {v}, id = id + 1000 WHERE id % 3 = 0")
        client.sql(f"UPDATE t SET v = v + 1 WHERE id % 5 = 0 AND v > {v}")
        client.sql("DELETE FROM t WHERE id % 7 = 0")
        client.sql("COMMIT")
    assert len(client.sql("SELECT * FROM t")) > 20
    assert client.sql("CHECK TABLE t FULL") == []
