"""Tables on S3 with a real Hive Metastore, which has S3A too."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import acidsql
from tests.java_tools import TOOLS, JavaSetupError
from tests.metastore.server.launcher import MetastoreServer, running
from tests.metastore.subjects import SERVER_SETTINGS
from tests.requirements import require_tools, unavailable
from tests.s3.conftest import Client
from tests.s3.store import BUCKET, Store
from tests.scenario import core

pytestmark = [pytest.mark.s3, pytest.mark.metastore, pytest.mark.spark]


@pytest.fixture(scope="module")
def server(store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MetastoreServer]:
    """Start a metastore that knows the store."""
    require_tools(*TOOLS)
    home = tmp_path_factory.mktemp("hms-s3")
    warehouse = {"metastore.warehouse.dir": f"s3a://{BUCKET}/warehouse"}
    settings = {**SERVER_SETTINGS, **store.settings(), **warehouse}
    try:
        with running("4.1.0", home, settings) as started:
            yield started
    except JavaSetupError as error:
        unavailable(f"no metastore: {error}")


@pytest.fixture
def ann(spark: SparkSession, store: Store, server: MetastoreServer) -> Iterator[Client]:
    """Yield a client of the metastore; the bucket is emptied after it."""
    made = Client(spark, store, server.uri)
    yield made
    made.session.close()
    store.delete("")


def test_core_statements(ann: Client) -> None:
    core(ann.spark, f"s3a://{BUCKET}/warehouse/core")
    assert ann.store.files("warehouse/core") == []


def test_a_database_on_s3(ann: Client, server: MetastoreServer) -> None:
    ann.sql(f"CREATE DATABASE far LOCATION 's3a://{BUCKET}/warehouse/far'")
    ann.sql(
        "CREATE TABLE far.t (id INT, v STRING) PARTITIONED BY (p INT) CLUSTERED BY (id) INTO 2 "
        "BUCKETS STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
    )
    assert acidsql.location(ann.spark, "far.t") == f"s3a://{BUCKET}/warehouse/far.db/t"
    ann.sql("INSERT INTO far.t SELECT id, 'a', id % 2 FROM range(0, 20, 1, 2)")
    ann.sql("INSERT OVERWRITE far.t PARTITION (p = 1) VALUES (1, 'b')")
    ann.sql("DELETE FROM far.t WHERE id >= 4")
    # Begun by a client that is gone.
    dead = "warehouse/far.db/t/p=0/delta_0000001_0000001_0000/bucket_00009"
    ann.store.client.create_multipart_upload(Bucket=BUCKET, Key=dead)
    assert [row[0] for row in ann.sql("CHECK TABLE far.t")] == ["DEAD_UPLOAD"]
    other = Client(ann.spark, ann.store, server.uri)
    try:
        assert sorted(other.sql("SELECT * FROM far.t")) == [(0, "a", 0), (1, "b", 1), (2, "a", 0)]
    finally:
        other.session.close()
    acidsql.release(ann.spark)
    ann.sql("ALTER TABLE far.t PARTITION (p = 0) COMPACT 'major' AND WAIT")
    assert ann.store.uploads() == []
    assert ann.sql("CHECK TABLE far.t FULL") == []
    names = {
        key.partition("/bucket_")[0].partition("_v")[0]
        for key in ann.store.files("warehouse/far.db/t")
    }
    assert names >= {"p=0/base_0000003"}
    # What an INSERT OVERWRITE has replaced goes with the next compaction of its partition.
    assert not [n for n in names if "staging" in n or n.startswith("p=0/delta_0000001")]
    ann.sql("ALTER TABLE far.t DROP PARTITION (p = 0)")
    ann.sql("TRUNCATE TABLE far.t")
    assert ann.sql("SELECT * FROM far.t") == []
    ann.sql("DROP TABLE far.t")
    assert ann.store.files("warehouse/far") == []
    ann.sql("DROP DATABASE far")
    assert ann.sql("SHOW LOCKS") == []
