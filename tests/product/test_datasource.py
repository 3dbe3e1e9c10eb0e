"""Tests of ``format("acidsql")`` in a session: the rows of ``acidsql.table``, writes, refusals."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import acidsql
from acidsql.datasource.options import Defaults
from acidsql.datasource.writing import STAGING
from acidsql.errors import AcidSqlError
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark
_IS_OLD = pyspark.__version__ < "4"


KEPT = "spark.sql.python.filterPushdown.enabled"


@pytest.fixture
def registered(lab: Lab) -> Lab:
    if _IS_OLD:
        pytest.skip("PySpark 3.5 has no data sources in Python")
    acidsql.register(lab.spark)
    return lab


@pytest.fixture
def bare(registered: Lab, other: Lab) -> Lab:
    """Return a session with the source as Spark finds it by itself: without the rule."""
    from acidsql.datasource import AcidDataSource  # noqa: PLC0415 - not in PySpark 3.5

    defaults = Defaults(metastore=registered.session.settings.metastore)
    other.spark.dataSource.register(type("Source", (AcidDataSource,), {"defaults": defaults}))
    return other


def read(lab: Lab, table: str, **options: str) -> DataFrame:
    database = lab.spark.catalog.currentDatabase()
    return lab.spark.read.format("acidsql").options(**options).load(f"{database}.{table}")


@pytest.mark.skipif(not _IS_OLD, reason="PySpark 4 has data sources in Python")
def test_pyspark_3_has_no_such_format(lab: Lab) -> None:
    with pytest.raises(AcidSqlError) as caught:
        acidsql.register(lab.spark)
    assert caught.value.condition == "UNSUPPORTED_SPARK_VERSION"


@pytest.mark.slow
def test_rows_are_those_of_the_table(registered: Lab) -> None:
    lab = registered
    t = lab.create(
        "id INT, c CHAR(3), n DECIMAL(7,2), at TIMESTAMP, m MAP<STRING, ARRAY<TIMESTAMP>>",
        partitioned="day DATE",
        values="(1, 'a', 1.5, TIMESTAMP'2024-07-01 12:00:00.000001', "
        "map('k', array(TIMESTAMP'2024-01-01 12:00:00', NULL)), DATE'2024-07-01'), "
        "(2, NULL, NULL, NULL, NULL, NULL), (3, 'b', 2, NULL, map(), DATE'2024-07-02')",
    )
    lab.sql(f"DELETE FROM {t} WHERE id = 3")
    lab.sql(f"UPDATE {t} SET n = 9 WHERE id = 2")
    expected = acidsql.table(lab.spark, t)
    found = read(lab, t)
    assert [(f.name, f.dataType) for f in found.schema] == [
        (f.name, f.dataType) for f in expected.schema
    ]
    assert sorted(found.collect()) == sorted(expected.collect())
    some = found.where((F.col("id") > 1) & F.col("day").isNull()).select("n")
    assert [tuple(map(str, row)) for row in some.collect()] == [("9.00",)]
    old = read(lab, t, versionAsOf="1", columns="id")
    assert sorted(old.collect()) == [(1,), (2,), (3,)]


def check_queries(lab: Lab) -> None:
    """Check that each query of a frame and of a view has its own rows and filters."""
    spark = lab.spark
    t = lab.create("i INT, s STRING", partitioned="p INT", values="(1, 'a', 1), (2, 'b', 2)")
    u = lab.create("i INT")
    lab.insert(t, "(3, 'c', 1)")
    frame = read(lab, t)
    name = f"{spark.catalog.currentDatabase()}.{t}"
    view, old = f"seen_{t}", read(lab, t, versionAsOf="1")
    spark.sql(f"CREATE TEMPORARY VIEW {view} USING acidsql OPTIONS (path '{name}')")
    assert (frame.where("i = 1").count(), frame.count()) == (1, 3)
    assert (old.where("i = 1").count(), old.count()) == (1, 2)
    assert [frame.where(one).count() for one in ("p = 1", "i % 2 = 1 OR s = 'b'", "i > 9")] == [
        2,
        3,
        0,
    ]
    assert (frame.where("s = 'b'").first(), frame.select("i").count()) == ((2, "b", 2), 3)

    def rows(text: str) -> list[int]:
        return sorted(row[0] for row in spark.sql(text.format(view)).collect())

    assert rows("SELECT i FROM {0} WHERE i = 1") == [1]
    assert rows("SELECT i FROM {0} WHERE p = 1 UNION ALL SELECT i FROM {0} WHERE s > 'a'") == [
        1,
        2,
        3,
        3,
    ]
    assert rows("SELECT a.i * 10 + b.i FROM {0} a JOIN {0} b ON a.i = b.i + 1 WHERE a.i = 3") == [
        32
    ]
    assert rows("SELECT (SELECT max(i) FROM {0}) + min(i) FROM {0} WHERE p = 2") == [5]
    assert rows("SELECT i FROM {0} WHERE i IN (SELECT p FROM {0} WHERE s = 'b')") == [2]
    lab.insert(t, "(4, NULL, NULL)")
    assert rows("SELECT count(*) FROM {0}") == [4]
    lab.sql(f"DELETE FROM {t} WHERE i < 3")
    lab.compact(t, "major", "p = 1")
    lab.sql(f"VACUUM {t} RETAIN 0 HOURS")
    assert rows("SELECT i FROM {0}") == [3, 4]
    lab.sql(f"MERGE INTO {u} USING {view} s ON {u}.i = s.i WHEN NOT MATCHED THEN INSERT VALUES (i)")
    lab.sql(f"INSERT INTO {u} SELECT i + 10 FROM {view} WHERE s IS NULL")
    assert sorted(lab.rows(u)) == [(3,), (4,), (14,)]
    cached = frame.cache()
    assert (cached.count(), cached.where("i = 3").count(), cached.count()) == (2, 1, 2)
    cached.unpersist()
    spark.catalog.dropTempView(view)


@pytest.mark.slow
def test_each_query_has_its_own_snapshot_and_filters(registered: Lab) -> None:
    lab = registered
    before = lab.spark.conf.get(KEPT, None)
    t, u = lab.create("i INT", values="(1), (2), (3)"), lab.create("i INT")
    frame = read(lab, t)
    frame.createOrReplaceTempView("seen")
    assert (frame.where("i = 1").count(), frame.count()) == (1, 3)
    lab.insert(t, "(4)")
    lab.sql(f"MERGE INTO {u} USING seen s ON {u}.i = s.i WHEN NOT MATCHED THEN INSERT VALUES (i)")
    assert sorted(lab.rows(u)) == [(1,), (2,), (3,), (4,)]
    assert lab.spark.conf.get(KEPT, None) == before
    lab.spark.catalog.dropTempView("seen")


@pytest.mark.repeated
def test_neighbours_of_queries_have_their_own_too(registered: Lab) -> None:
    check_queries(registered)
    with registered.settings(**{KEPT.replace(".", "__"): "true"}):
        check_queries(registered)


@pytest.mark.repeated
def test_each_query_has_its_own_snapshot_without_the_rule(bare: Lab) -> None:
    check_queries(bare)


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="PySpark 4.0 has no filters")
def test_a_query_reads_the_columns_and_files_that_it_needs(registered: Lab) -> None:
    lab = registered
    t = lab.create("i INT, s STRING, m MAP<INT, INT>", partitioned="p INT")
    lab.insert(t, "(1, 'a', NULL, 1), (2, 'b', NULL, 2)")
    frame = read(lab, t)
    plan = frame.where("S = 'b'").select("i")._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"BatchScan acidsql\[i#\d+, s#\d+\]", plan), plan
    plan = frame.groupBy().count()._jdf.queryExecution().executedPlan().toString()
    assert re.search(r"BatchScan acidsql\[(i|p)#\d+\]", plan), plan
    shutil.rmtree(lab.root(t) / "p=1" / "delta_0000001_0000001_0000")
    (lab.root(t) / "p=1" / "delta_0000001_0000001_0000").mkdir()
    (lab.root(t) / "p=1" / "delta_0000001_0000001_0000" / "bucket_00000").write_bytes(b"no ORC")
    assert frame.where("P = 2").select("s").collect() == [("b",)]
    with pytest.raises(PySparkException):
        frame.collect()


@pytest.mark.repeated
@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="PySpark 4.0 has no filters")
def test_what_prunes_another_table_is_of_the_query_too(registered: Lab) -> None:
    lab = registered
    t = lab.create("i INT, s STRING, p INT", values="(1, 'a', 1), (2, 'b', 2)")
    read(lab, t).createOrReplaceTempView("pruning")
    lab.spark.range(10).selectExpr("id v", "id % 5 p").write.partitionBy("p").saveAsTable("pruned")
    frame = lab.spark.sql(
        "SELECT /*+ BROADCAST(s) */ f.v FROM pruned f JOIN pruning s ON f.p = s.p WHERE s.s = 'b'"
    )
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "dynamicpruning" in plan
    assert set(re.findall(r"BatchScan acidsql\[(\w+)#\d+, (\w+)#\d+\]", plan)) == {("s", "p")}
    assert plan.count("BatchScan acidsql[") == plan.count("BatchScan acidsql[s#")
    assert sorted(frame.collect()) == [(2,), (7,)]
    lab.spark.sql("DROP TABLE pruned")
    lab.spark.catalog.dropTempView("pruning")


def test_spark_by_itself_makes_no_table_of_the_format(registered: Lab) -> None:
    lab = registered
    t = lab.create("i INT", values="(1)")
    rows = acidsql.table(lab.spark, t)
    before = lab.state(t)
    attempts: list[Callable[[], Any]] = [
        lambda: lab.spark.sql("CREATE TABLE not_made (i INT) USING acidsql"),
        lambda: lab.spark.sql("CREATE TABLE not_made USING AcidSql AS SELECT 1 AS i"),
        lambda: lab.spark.sql("CREATE TABLE not_made USING acidsql OPTIONS (table 'default.t')"),
        lambda: rows.write.format("acidsql").saveAsTable("not_made"),
        lambda: rows.write.format("acidsql").mode("append").saveAsTable(t),
        lambda: rows.writeTo("not_made").using("acidsql").create(),
    ]
    for attempt in attempts:
        with pytest.raises(PySparkException, match="acidsql.sql") as caught:
            attempt()
        assert condition_of(caught.value) == "PYTHON_DATA_SOURCE_ERROR"
        assert not lab.spark.catalog.tableExists("not_made")
    assert not (lab.root(t).parent / "not_made").exists()
    assert lab.state(t) == before


@pytest.mark.slow
def test_a_write_is_one_transaction(registered: Lab) -> None:
    lab = registered
    t = lab.create("id INT, at TIMESTAMP", partitioned="p STRING")
    name = f"{lab.spark.catalog.currentDatabase()}.{t}"
    rows = lab.spark.sql(
        "SELECT CAST(id AS INT) AS id, TIMESTAMP'2024-07-01 12:00:00' AS at, "
        "concat('p', id % 2) AS p FROM range(0, 4, 1, 2)"
    )
    rows.write.format("acidsql").mode("append").save(name)
    assert sorted(acidsql.table(lab.spark, t).collect()) == sorted(rows.collect())
    assert lab.sql(f"SELECT DISTINCT row__id.writeid FROM {t}") == [(1,)]
    failing = rows.withColumn("id", F.expr("IF(id = 3, raise_error('no'), id)").cast("int"))
    for frame, mode, condition in (
        (failing, "append", "no"),
        (rows, "overwrite", "UNSUPPORTED_FEATURE.DATA_SOURCE_OVERWRITE"),
        (rows.withColumnRenamed("id", "other"), "append", "COLUMN_NOT_FOUND"),
    ):
        with pytest.raises(PySparkException, match=condition):
            frame.write.format("acidsql").mode(mode).save(name)
        assert len(lab.rows(t)) == 4
        assert not list(lab.root(t).glob(f"{STAGING}*"))


def test_no_row_breaks_a_check(registered: Lab) -> None:
    lab = registered
    lab.sql("CREATE TABLE checked_source (id INT CHECK (id < 5)) USING acidsql")
    lab.sql("INSERT INTO checked_source VALUES (1)")
    name = f"{lab.spark.catalog.currentDatabase()}.checked_source"
    rows = lab.spark.sql("SELECT 7 AS id")
    with pytest.raises(PySparkException, match="UNSUPPORTED_FEATURE.STREAMING_CHECK"):
        rows.write.format("acidsql").mode("append").save(name)
    lab.sql("CREATE TABLE plain_source (id INT) USING acidsql")
    plain = name.replace("checked", "plain")
    with pytest.raises(PySparkException, match="UNSUPPORTED_FEATURE.WRITE_OPTION"):
        rows.write.format("acidsql").option("mergeSchema", "true").mode("append").save(plain)
    assert lab.rows("checked_source") == [(1,)]
    assert lab.rows("plain_source") == []
    assert not list(lab.root("checked_source").glob(f"{STAGING}*"))


@pytest.mark.repeated
@pytest.mark.skipif(pyspark.__version__ < "4.1", reason="streams of Arrow came with PySpark 4.1")
def test_a_stream_is_written_once(registered: Lab, tmp_path: Path) -> None:
    lab = registered
    t = lab.create("value BIGINT")
    (tmp_path / "in").mkdir()
    for number in range(2):
        lab.spark.range(number, number + 1).toDF("value").coalesce(1).write.mode("append").parquet(
            str(tmp_path / "in")
        )
    for checkpoint in ("one", "two"):  # the second one repeats the batches of the first
        frame = lab.spark.readStream.schema("value BIGINT").option("maxFilesPerTrigger", 1)
        writer = frame.parquet(str(tmp_path / "in")).writeStream.format("acidsql")
        query = writer.options(
            path=f"{lab.spark.catalog.currentDatabase()}.{t}",
            stream="numbers",
            checkpointLocation=str(tmp_path / checkpoint),
        )
        query.trigger(availableNow=True).start().awaitTermination()
    assert lab.rows(t) == [(0,), (1,)]
