"""Tables on a real HDFS: files are appended to and renamed there."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.injection_points import Point
from acidsql.session.acid_session import AcidSession
from acidsql.storage.filesystem import FileSystem, child
from tests.injection import failing
from tests.limits import set_limits
from tests.product.test_filesystem import file_operations, odd_names
from tests.scenario import core, listing

pytestmark = [pytest.mark.spark, pytest.mark.hdfs]

_TABLE = "STORED AS ORC LOCATION '{location}' TBLPROPERTIES ('transactional'='true')"


def rows(spark: SparkSession, table: str) -> list[tuple[object, ...]]:
    return sorted(tuple(r) for r in acidsql.sql(spark, f"SELECT * FROM {table}").collect())


def tree(files: FileSystem, path: str) -> list[str]:
    """Return everything below a directory, sorted."""
    found = []
    listing = files.list(path)
    for name in listing.names:
        found.append(name)
        if name not in listing.files:
            found += [f"{name}/{below}" for below in tree(files, child(path, name))]
    return sorted(found)


def test_core_statements_on_hdfs(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    core(hdfs_spark, f"{hdfs_uri}/acid")


def test_files_on_hdfs(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    file_operations(hdfs_spark, f"{hdfs_uri}/files")
    odd_names(hdfs_spark, f"{hdfs_uri}/odd")


def test_a_database_on_hdfs_needs_no_location_per_table(
    hdfs_spark: SparkSession, hdfs_uri: str
) -> None:
    acidsql.sql(hdfs_spark, f"CREATE DATABASE far LOCATION '{hdfs_uri}/far'")
    acidsql.sql(
        hdfs_spark,
        "CREATE TABLE far.t (id INT, v STRING) PARTITIONED BY (p INT) STORED AS ORC "
        "TBLPROPERTIES ('transactional'='true', 'orc.compress'='SNAPPY')",
    )
    assert acidsql.location(hdfs_spark, "far.t") == f"{hdfs_uri}/far/t"
    acidsql.sql(hdfs_spark, "INSERT INTO far.t VALUES (1, 'a', 1), (2, 'b', 2), (3, 'c', NULL)")
    acidsql.sql(hdfs_spark, "UPDATE far.t SET v = 'z', p = 7 WHERE p IS NULL")
    assert rows(hdfs_spark, "far.t") == [(1, "a", 1), (2, "b", 2), (3, "z", 7)]
    names = [name.rpartition("/")[0] for name in listing(hdfs_spark, "far.t")]
    assert sorted(set(names)) == ["p=1", "p=2", "p=7", "p=__HIVE_DEFAULT_PARTITION__"]
    acidsql.sql(hdfs_spark, "DROP TABLE far.t")
    assert not AcidSession.of(hdfs_spark).files.exists(f"{hdfs_uri}/far/t")
    acidsql.sql(hdfs_spark, "DROP DATABASE far")


def test_many_stripes_and_deletes_on_hdfs(
    hdfs_spark: SparkSession, hdfs_uri: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_limits(monkeypatch, driver_events=100)
    place = _TABLE.format(location=f"{hdfs_uri}/stripes")
    striped = place.replace("'true')", "'true', 'orc.stripe.size'='1024')")
    acidsql.sql(hdfs_spark, f"CREATE TABLE stripes (id BIGINT, v STRING) {striped}")
    acidsql.sql(hdfs_spark, "INSERT INTO stripes SELECT id, uuid() FROM range(0, 12000, 1, 2)")
    acidsql.sql(hdfs_spark, "DELETE FROM stripes WHERE id % 2 = 0")
    expected = [(6000, 36_000_000)]
    counted = "SELECT count(*), sum(id) FROM stripes"
    assert acidsql.sql(hdfs_spark, counted).collect() == expected
    assert listing(hdfs_spark, "stripes") == {
        "delta_0000001_0000001_0000": [0, 1],
        "delete_delta_0000002_0000002_0000": [0, 1],
    }
    for kind in ("minor", "major"):
        acidsql.release(hdfs_spark)
        acidsql.sql(hdfs_spark, f"ALTER TABLE stripes COMPACT '{kind}'")
        assert acidsql.sql(hdfs_spark, counted).collect() == expected
        assert set(map(tuple, listing(hdfs_spark, "stripes").values())) == {(0, 1)}
    acidsql.sql(hdfs_spark, "DROP TABLE stripes")


def test_a_failed_write_leaves_nothing_on_hdfs(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    files = AcidSession.of(hdfs_spark).files
    place = _TABLE.format(location=f"{hdfs_uri}/failed")
    acidsql.sql(hdfs_spark, f"CREATE TABLE failed (id INT) PARTITIONED BY (p INT, q INT) {place}")
    acidsql.sql(hdfs_spark, "INSERT INTO failed VALUES (1, 1, 1), (2, 2, 2)")
    before = tree(files, f"{hdfs_uri}/failed")

    refused = failing(Point.BEFORE_COMMIT, RuntimeError("no commit"))
    with refused, pytest.raises(RuntimeError, match="no commit"):
        acidsql.sql(hdfs_spark, "UPDATE failed SET p = 8, q = id WHERE id = 1")
    assert tree(files, f"{hdfs_uri}/failed") == before
    assert [r[0] for r in acidsql.sql(hdfs_spark, "SHOW PARTITIONS failed").collect()] == [
        "p=1/q=1",
        "p=2/q=2",
    ]
    assert rows(hdfs_spark, "failed") == [(1, 1, 1), (2, 2, 2)]
    acidsql.sql(hdfs_spark, "DROP TABLE failed")


def test_a_table_on_hdfs_is_replaced(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    files = AcidSession.of(hdfs_spark).files
    place = _TABLE.format(location=f"{hdfs_uri}/replaced")
    acidsql.sql(hdfs_spark, f"CREATE TABLE replaced (id INT, v STRING) {place}")
    acidsql.sql(hdfs_spark, "INSERT INTO replaced VALUES (1, 'a'), (2, 'b')")
    old = acidsql.table(hdfs_spark, "replaced")
    acidsql.sql(
        hdfs_spark, "CREATE OR REPLACE TABLE replaced AS SELECT id + 10 AS id, v FROM replaced"
    )
    assert rows(hdfs_spark, "replaced") == [(11, "a"), (12, "b")]
    acidsql.sql(
        hdfs_spark,
        "CREATE OR REPLACE TABLE replaced PARTITIONED BY (p) "
        "AS SELECT v, id % 2 AS p FROM replaced",
    )
    assert rows(hdfs_spark, "replaced") == [("a", 1), ("b", 0)]
    assert sorted(tuple(row) for row in old.collect()) == [(1, "a"), (2, "b")]
    location = acidsql.location(hdfs_spark, "replaced")
    assert location.startswith(f"{hdfs_uri}/replaced_acidsql_")
    del old
    acidsql.release(hdfs_spark)
    acidsql.sql(hdfs_spark, "INSERT INTO replaced VALUES ('c', 1)")  # it deletes what is old
    assert not files.exists(f"{hdfs_uri}/replaced")
    assert rows(hdfs_spark, "replaced") == [("a", 1), ("b", 0), ("c", 1)]
    assert acidsql.sql(hdfs_spark, "CHECK TABLE replaced FULL").collect() == []
    acidsql.sql(hdfs_spark, "DROP TABLE replaced")
    assert not files.exists(location)


def test_a_table_on_hdfs_is_adopted(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    place = _TABLE.format(location=f"{hdfs_uri}/adopted")
    acidsql.sql(hdfs_spark, f"CREATE TABLE adopted (id INT) {place}")
    acidsql.sql(hdfs_spark, "INSERT INTO adopted VALUES (1), (2)")
    acidsql.sql(hdfs_spark, "DELETE FROM adopted WHERE id = 1")
    # As if the metastore's file were lost.
    AcidSession.of(hdfs_spark).metastore.drop_table("default", "adopted")
    with pytest.raises(AcidAnalysisError, match="ADOPTED_SCHEMA_MISMATCH"):
        acidsql.sql(hdfs_spark, f"CREATE TABLE wrong (other INT) {place}")
    acidsql.sql(hdfs_spark, f"CREATE TABLE again (id INT) {place}")
    acidsql.sql(hdfs_spark, "INSERT INTO again VALUES (3)")
    assert rows(hdfs_spark, "again") == [(2,), (3,)]
    assert "delta_0000003_0000003_0000" in listing(hdfs_spark, "again")
    with pytest.raises(AcidAnalysisError, match="LOCATION_IN_USE"):
        acidsql.sql(hdfs_spark, f"CREATE TABLE third (id INT) {place}")
    acidsql.sql(hdfs_spark, "DROP TABLE again")
