"""Statements in a Spark session over servers of Hive."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyorc
import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError, AcidLookupError, ConcurrencyError
from acidsql.metastore.model import CompactionState, CompactionType, Partition
from acidsql.session.acid_session import AcidSession
from tests.arrow_reader.beside_spark import assert_read_as_by_spark
from tests.metastore.server.launcher import VERSIONS, MetastoreServer
from tests.metastore.spark.conftest import Calls, Client
from tests.metastore.subjects import connected
from tests.scenario import core

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

ACID = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"


def test_core_statements(
    client: Callable[[str], Client], metastore_server: Callable[[str], MetastoreServer]
) -> None:
    core(client("4.1.0").spark, f"file:{metastore_server('4.1.0').warehouse}/core")


@pytest.mark.sample("4.1.0", "3.1.3")
@pytest.mark.parametrize("version", VERSIONS)
def test_one_table_through_its_life(client: Callable[[str], Client], version: str) -> None:
    ann = client(version)
    ann.sql(
        f"CREATE TABLE t (id INT NOT NULL COMMENT 'key', v STRING DEFAULT 'none') "
        f"PARTITIONED BY (p INT) {ACID}"
    )
    ann.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2)")
    ann.sql("INSERT INTO t (id, p) VALUES (3, 2)")
    with pytest.raises(Exception, match="NOT_NULL_ASSERT_VIOLATION|NULL"):
        ann.sql("INSERT INTO t VALUES (NULL, 'x', 1)")
    ann.sql("UPDATE t SET v = 'B' WHERE id = 2")
    ann.sql("DELETE FROM t WHERE id = 1")
    ann.sql(
        "MERGE INTO t USING (SELECT 3 AS id, 'c' AS v, 2 AS p UNION ALL SELECT 4, 'd', 3) s "
        "ON t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
    )
    expected = [(2, "B", 2), (3, "c", 2), (4, "d", 3)]
    assert ann.sql("SELECT * FROM t") == expected
    assert client(version).sql("SELECT * FROM t") == expected
    assert_read_as_by_spark(ann.spark, "t")
    assert ann.sql("SHOW PARTITIONS t") == [("p=1",), ("p=2",), ("p=3",)]
    assert ann.sql("INSERT OVERWRITE TABLE t PARTITION (p = 3) VALUES (5, 'e')") == [(1, 1)]
    ann.sql("TRUNCATE TABLE t PARTITION (p = 2)")
    assert ann.sql("SELECT * FROM t") == [(5, "e", 3)]
    ann.sql("ALTER TABLE t ADD COLUMNS (extra DOUBLE)")
    ann.sql("INSERT INTO t VALUES (6, 'f', 1.5, 3)")
    assert ann.sql("SELECT * FROM t") == [(5, "e", None, 3), (6, "f", 1.5, 3)]
    assert_read_as_by_spark(ann.spark, "t")
    ann.sql("ALTER TABLE t PARTITION (p = 3) RENAME TO PARTITION (p = 4)")
    ann.sql("ALTER TABLE t RENAME TO u")
    assert ann.sql("SELECT * FROM u") == [(5, "e", None, 4), (6, "f", 1.5, 4)]
    ann.sql("ALTER TABLE u DROP PARTITION (p = 1), PARTITION (p = 2)")
    assert ann.sql("SHOW PARTITIONS u") == [("p=4",)]
    ann.sql("CREATE VIEW w AS SELECT id FROM u WHERE p = 4")
    assert client(version).sql("SELECT * FROM w") == [(5,), (6,)]
    place = Path(acidsql.location(ann.spark, "u").removeprefix("file:"))
    assert place.is_dir()
    ann.sql("DROP VIEW w")
    ann.sql("DROP TABLE u")
    assert not place.exists()
    assert ann.sql("SHOW TABLES") == []
    assert ann.sql("SHOW LOCKS") == []


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_partitions_that_are_spelled_otherwise(
    client: Callable[[str], Client], version: str
) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE spelled (id INT) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO spelled VALUES (1, 1), (2, 1), (3, 1), (4, 9), (5, 10)")
    place = Path(acidsql.location(ann.spark, "spelled").removeprefix("file:"))
    (place / "p=1").rename(place / "p=01")
    ann.sql("MSCK REPAIR TABLE spelled SYNC PARTITIONS")
    assert ann.sql("SHOW PARTITIONS spelled") == [("p=01",), ("p=10",), ("p=9",)]
    assert ann.sql("DELETE FROM spelled WHERE id = 1") == [(1, 1)]
    assert ann.sql("UPDATE spelled SET id = 12 WHERE id = 2 AND p = 1") == [(1, 1)]
    assert ann.sql("SELECT * FROM spelled") == [(12, 1), (3, 1), (4, 9), (5, 10)]
    ann.sql("ALTER TABLE spelled DROP PARTITION (p > 9)")
    assert ann.sql("SHOW PARTITIONS spelled") == [("p=01",), ("p=9",)]
    ann.sql("ALTER TABLE spelled DROP PARTITION (p < 2), PARTITION (p <> 1)")
    assert ann.sql("SHOW PARTITIONS spelled") == []
    ann.sql("DROP TABLE spelled")


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_new_tables_have_a_codec_that_hive_reads(
    client: Callable[[str], Client], version: str
) -> None:
    """Check that tables of Hive 3.1, whose ORC knows no zstd, are written with zlib."""
    ann = client(version)
    ann.sql(f"CREATE TABLE coded (id INT) {ACID}")
    ann.sql("INSERT INTO coded VALUES (1), (2)")
    place = Path(acidsql.location(ann.spark, "coded").removeprefix("file:"))
    (file,) = place.rglob("bucket_*")
    with file.open("rb") as stream:
        codec = pyorc.Reader(stream).compression.name
    has_property = ("orc.compress", "ZSTD") in ann.sql("SHOW TBLPROPERTIES coded")
    expected = ("ZLIB", False) if version.startswith("3.") else ("ZSTD", True)
    assert (codec, has_property) == expected
    ann.sql("DROP TABLE coded")


def test_hive_3_compacts_by_itself(client: Callable[[str], Client]) -> None:
    ann = client("3.1.3")
    ann.sql(f"CREATE TABLE t (id INT) {ACID}")
    for i in range(3):
        ann.sql(f"INSERT INTO t VALUES ({i})")
    ((_, _, table, _, kind, state, *_),) = ann.sql("ALTER TABLE t COMPACT 'major'")
    assert (table, kind, state) == ("t", "major", "initiated")
    assert ann.sql("SELECT * FROM t") == [(0,), (1,), (2,)]
    (entry,) = ann.session.metastore.compactions()
    assert acidsql.run_compaction(ann.spark) is None
    assert entry.state is CompactionState.INITIATED
    impatient = client("3.1.3")
    impatient.spark.conf.set("spark.acidsql.lock.timeout", "1")
    impatient.close()
    ann.sql("ALTER TABLE t COMPACT 'minor'")  # refused: it is queued already
    other = ann.sql(f"CREATE TABLE other (id INT) {ACID}")
    assert other == []
    with pytest.raises(ConcurrencyError, match="COMPACTION_TIMEOUT.*3.1"):
        impatient.sql("ALTER TABLE other COMPACT 'major' AND WAIT")


def test_databases_come_from_the_server(
    client: Callable[[str], Client],
    metastore_server: Callable[[str], MetastoreServer],
    spark: SparkSession,
    calls: Calls,
) -> None:
    ann = client("4.1.0")
    server = metastore_server("4.1.0")
    store = connected(server)
    many = [f"many{i}" for i in range(30)]
    for name in many:
        store.create_database(name, "")
    calls.clear()
    bob = Client(spark, server.uri)
    bob.sql("SELECT 1")
    assert len(calls.sent) <= 2, calls.names  # nothing for each database
    assert {(name,) for name in many} < set(bob.sql("SHOW DATABASES"))
    assert bob.sql("SHOW DATABASES LIKE 'many2*'") == sorted((n,) for n in many if n[:5] == "many2")
    bob.sql("USE many7")
    bob.sql(f"CREATE TABLE t (id INT) {ACID}")
    bob.sql("INSERT INTO t VALUES (1)")
    assert ann.sql("SELECT * FROM many7.t") == [(1,)]
    assert acidsql.location(ann.spark, "many7.t") == f"file:{server.warehouse}/many7.db/t"
    # Spark's own tables may lie in a database that it does not know yet.
    bob.sql("CREATE TABLE many8.plain (id INT) USING parquet")
    assert bob.sql("SHOW TABLES IN many8") == [("many8", "plain", False)]
    bob.sql("DROP TABLE many8.plain")
    with pytest.raises(AcidLookupError, match="SCHEMA_NOT_FOUND"):
        bob.sql(f"CREATE TABLE nowhere.t (id INT) {ACID}")
    bob.sql("USE default")
    bob.sql("DROP DATABASE many7 CASCADE")
    assert "many7" not in store.databases()
    assert not Path(f"{server.warehouse}/many7.db/t").exists()
    bob.close()


def test_table_of_the_metastore_is_ours_whatever_spark_knows(
    client: Callable[[str], Client], tmp_path: Path
) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    ann.spark.sql(f"CREATE TABLE t (id INT) USING parquet LOCATION '{tmp_path}/t'")
    ann.spark.sql("INSERT INTO t VALUES (7)")
    bob.sql(f"CREATE TABLE other (id INT) {ACID}")
    store, database = bob.session.metastore, bob.spark.catalog.currentDatabase()
    other = store.table(database, "other")
    store.create_table(replace(other, name="t", location=f"{other.location}_2"))
    bob.sql("INSERT INTO t VALUES (1)")
    assert ann.sql("SELECT * FROM t") == [(1,)]
    ann.sql("UPDATE t SET id = 2")
    assert bob.sql("SELECT * FROM t") == [(2,)]
    with pytest.raises(AcidAnalysisError, match="TABLE_OR_VIEW_ALREADY_EXISTS"):
        ann.sql("CREATE TABLE t (id INT) USING parquet")
    ann.sql("DROP TABLE t")
    assert ann.sql("SELECT * FROM t") == [(7,)]
    ann.spark.sql("DROP TABLE t")


def test_places_outside_of_the_warehouse(client: Callable[[str], Client], tmp_path: Path) -> None:
    statement = f"CREATE TABLE t (id INT) STORED AS ORC LOCATION '{tmp_path}/t' {ACID[14:]}"
    with pytest.raises(AcidAnalysisError, match="LOCATION_OUTSIDE_WAREHOUSE"):
        client("4.1.0").sql(statement)
    old = client("3.1.3")
    old.sql(statement)
    old.sql("INSERT INTO t VALUES (1)")
    assert old.sql("SELECT * FROM t") == [(1,)]
    assert (tmp_path / "t").is_dir()


def test_compaction_that_somebody_else_requested(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 1)")
    ann.sql("INSERT INTO t VALUES (2, 1)")
    database = ann.spark.catalog.currentDatabase()
    store = ann.session.metastore
    entry = store.request_compaction(database, "t", "p=1", CompactionType.MAJOR)
    whole = store.request_compaction(database, "t", None, CompactionType.MAJOR)
    assert acidsql.run_compaction(bob.spark) == entry.compaction_id
    assert acidsql.run_compaction(bob.spark) == whole.compaction_id
    assert acidsql.run_compaction(bob.spark) is None
    states = {c.compaction_id: (c.state, c.error) for c in store.compactions()}
    assert states[entry.compaction_id] == (CompactionState.READY_FOR_CLEANING, None)
    state, reason = states[whole.compaction_id]
    assert state is CompactionState.REFUSED
    assert reason is not None
    assert "partition by partition" in reason
    for session in (ann.session, bob.session):
        session.leases.release()
    assert acidsql.run_cleaner(ann.spark) == [entry.compaction_id]
    assert ann.sql("SELECT * FROM t") == [(1, 1), (2, 1)]
    place = Path(acidsql.location(ann.spark, "t").removeprefix("file:")) / "p=1"
    assert [path.name.partition("_v")[0] for path in place.iterdir()] == ["base_0000002"]


def test_aborted_writes_are_cleaned_up(client: Callable[[str], Client]) -> None:
    ann = client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT) {ACID}")
    for i in range(2):
        ann.sql(f"INSERT INTO t VALUES ({i})")
    session = AcidSession.of(ann.spark)
    database = ann.spark.catalog.currentDatabase()
    place = Path(acidsql.location(ann.spark, "t").removeprefix("file:"))
    aborted = session.metastore.open_txn("ann", "host")
    write_id = session.metastore.allocate_write_id(aborted, database, "t")
    left = place / f"delta_{write_id:07d}_{write_id:07d}_0000"
    left.mkdir()
    session.metastore.abort_txn(aborted)
    assert ann.sql("SELECT * FROM t") == [(0,), (1,)]
    acidsql.release(ann.spark)
    ((*_, state, _, _, _, _, _, _, error, _),) = ann.sql("ALTER TABLE t COMPACT 'major'")
    assert (state, error) == ("succeeded", None)
    assert not left.exists()
    assert ann.sql("SELECT * FROM t") == [(0,), (1,)]


def test_partitions_get_what_hive_expects(
    client: Callable[[str], Client], metastore_server: Callable[[str], MetastoreServer]
) -> None:
    ann = client("4.1.0")
    ann.sql(
        f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) "
        f"CLUSTERED BY (id) INTO 2 BUCKETS {ACID}"
    )
    ann.sql("INSERT INTO t VALUES (1, 'a', 7)")
    database = ann.spark.catalog.currentDatabase()
    store = connected(metastore_server("4.1.0"))
    call = store.server.call
    (partition,) = call("get_partitions_by_names", database, "t", ["p=7"])
    table = store._tables.existing(database, "t")
    assert (table.owner, table.ownerType) == (ann.session.user, 1)
    assert table.parameters["bucketing_version"] == "2"
    for descriptor in (table.sd, partition.sd):
        assert descriptor.inputFormat == "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat"
        assert descriptor.outputFormat == "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat"
        assert descriptor.serdeInfo.serializationLib == "org.apache.hadoop.hive.ql.io.orc.OrcSerde"
        assert [(f.name, f.type) for f in descriptor.cols] == [("id", "int"), ("v", "string")]
        assert (descriptor.bucketCols, descriptor.numBuckets) == (["id"], 2)
    assert store.partitions(database, "t") == (
        Partition(values=("7",), location=f"{table.sd.location}/p=7"),
    )


def test_views_keep_their_comments(client: Callable[[str], Client]) -> None:
    ann, bob = client("4.1.0"), client("4.1.0")
    ann.sql(f"CREATE TABLE t (id INT COMMENT 'key', c CHAR(5)) {ACID}")
    definition = (
        "(`x` COMMENT 'own', `y`) COMMENT 'a view' TBLPROPERTIES ('k' = 'v') AS SELECT c, id"
    )
    ann.sql("CREATE VIEW w AS SELECT id FROM t")
    ann.sql(f"CREATE OR REPLACE VIEW w {definition} FROM t")
    assert bob.sql("DESCRIBE w") == [("x", "char(5)", "own"), ("y", "int", "key")]
    assert ("Comment", "a view", "") in bob.sql("DESCRIBE EXTENDED w")
    ((text,),) = bob.sql("SHOW CREATE TABLE w")
    assert str(text).endswith(f"`w` {definition} FROM t")


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_what_a_table_says_about_itself(client: Callable[[str], Client], version: str) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE t (id INT) {ACID}")
    ann.sql("INSERT INTO t VALUES (1), (2), (3)")
    ann.sql("DELETE FROM t WHERE id = 1")
    ann.sql("UPDATE t SET id = 7 WHERE id = 2")
    names = "writeId, operation, state, numInsertedRows, numUpdatedRows, numDeletedRows, userName"
    history = acidsql.sql(ann.spark, "DESCRIBE HISTORY t").selectExpr(*names.split(", "))
    assert [tuple(row) for row in history.collect()] == [
        (3, "UPDATE or MERGE", "committed", 1, None, 1, None),
        (2, "DELETE", "committed", 0, 0, 1, None),
        (1, "INSERT", "committed", 3, 0, 0, None),
    ]
    (detail,) = acidsql.sql(ann.spark, "DESCRIBE DETAIL t").collect()
    assert (detail.id, detail.numFiles, detail.nextWriteId) == (None, 4, 4)
    assert detail.lastModified is not None
    (health,) = acidsql.health(ann.spark, "t")
    assert (health.deltas, health.delete_deltas) == (2, 2)
    assert (health.stored_rows, health.delete_events) == (4, 2)
    assert health.advice[0].endswith(".t COMPACT 'major'.")


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_copies(client: Callable[[str], Client], tmp_path: Path, version: str) -> None:
    ann = client(version)
    ann.sql(f"CREATE TABLE original (id INT NOT NULL, v STRING) PARTITIONED BY (p INT) {ACID}")
    ann.sql("INSERT INTO original VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    ann.sql("UPDATE original SET v = 'B' WHERE id = 2")
    ann.sql("DELETE FROM original WHERE id = 3")
    identified = "SELECT row__id, * FROM {}"
    ann.sql("CREATE TABLE cloned CLONE original")
    assert ann.sql(identified.format("cloned")) == ann.sql(identified.format("original"))
    ann.sql("UPDATE cloned SET v = 'x' WHERE id = 1")
    with pytest.raises(Exception, match="NOT_NULL_ASSERT_VIOLATION|NULL"):
        ann.sql("INSERT INTO cloned VALUES (NULL, 'x', 1)")
    other = client(version)
    assert other.sql("SELECT * FROM cloned") == [(1, "x", 1), (2, "B", 1)]
    assert other.sql("SHOW PARTITIONS cloned") == [("p=1",), ("p=2",)]
    ann.sql(f"EXPORT TABLE original TO '{tmp_path}/archive'")
    ann.sql(f"IMPORT TABLE imported FROM '{tmp_path}/archive'")
    assert other.sql("SELECT * FROM imported") == [(1, "a", 1), (2, "B", 1)]
    deleted = acidsql.table(ann.spark, "original", deleted_rows=True).where("row__is__deleted")
    assert sorted((row.id, row.v) for row in deleted.collect()) == [(2, "b"), (3, "c")]


@pytest.mark.sample("4.1.0")
@pytest.mark.parametrize("version", VERSIONS)
def test_replacements(client: Callable[[str], Client], version: str) -> None:
    ann, bob = client(version), client(version)
    ann.sql(f"CREATE TABLE t (id INT, v STRING) PARTITIONED BY (p INT) COMMENT 'old' {ACID}")
    ann.sql("INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', 2)")
    held = acidsql.sql(bob.spark, "SELECT * FROM t")
    assert ann.sql(
        "CREATE OR REPLACE TABLE t PARTITIONED BY (p) COMMENT 'new' USING acidsql AS "
        "SELECT id, upper(v) AS v, p FROM t WHERE p = 2"
    ) == [(2, 2)]
    assert bob.sql("SELECT * FROM t") == [(2, "B", 2), (3, "C", 2)]
    assert len(held.collect()) == 3
    assert ("comment", "new") in bob.sql("SHOW TBLPROPERTIES t")
    before = bob.sql("SELECT *, row__id FROM t")
    for text in (
        "CREATE OR REPLACE TABLE t PARTITIONED BY (p) AS SELECT v, id, p FROM t",
        "CREATE OR REPLACE TABLE t AS SELECT id, v FROM t",
        "REPLACE TABLE t (id INT, v STRING, more INT) PARTITIONED BY (p INT) USING acidsql",
    ):
        with pytest.raises(AcidAnalysisError) as caught:
            ann.sql(text)
        assert caught.value.condition == "UNSUPPORTED_FEATURE.REPLACE_LAYOUT"
    assert bob.sql("SELECT *, row__id FROM t") == before
    assert ann.sql("INSERT INTO t REPLACE WHERE id > 2 VALUES (4, 'd', 2), (5, 'e', 1)") == [
        (3, 1, 2)
    ]
    with pytest.raises(AcidAnalysisError) as caught:
        ann.sql("INSERT INTO t REPLACE WHERE id > 2 VALUES (1, 'x', 2)")
    assert caught.value.condition == "REPLACE_WHERE_MISMATCH"
    ann.sql("INSERT INTO t REPLACE USING (id, p) SELECT 5 AS id, 'E' AS v, 1 AS p")
    ann.sql("INSERT INTO t AS o REPLACE ON o.id = n.key (SELECT 2 AS key, 'moved', 3) AS n")
    expected = [(2, "moved", 3), (4, "d", 2), (5, "E", 1)]
    assert bob.sql("SELECT * FROM t") == expected
    ann.sql("CREATE OR REPLACE TABLE t (id INT, v STRING) PARTITIONED BY (p INT)")
    assert bob.sql("SELECT * FROM t") == []
    assert ann.session.metastore.locks() == ()
