"""Tests of ``acidsql.enable``: enabled sessions, others, and restoring by disable."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from inspect import signature
from typing import TYPE_CHECKING, Any

import pyspark
import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import Catalog, DataFrame, SparkSession
from pyspark.sql import functions as F

import acidsql
from acidsql.errors import AcidAnalysisError
from acidsql.session.acid_session import AcidSession
from tests.product.conditions import condition_of

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

NAMES = ("sql", "table", "read", "readStream", "catalog")
FRAME_NAMES = ("write", "writeTo", "writeStream", "mergeInto")


def methods(spark: SparkSession) -> dict[str, Any]:
    """Return the present attributes of PySpark's classes that are replaced."""
    frames = type(spark.range(0))
    return {
        **{name: vars(SparkSession)[name] for name in NAMES},
        **{name: vars(frames)[name] for name in FRAME_NAMES if hasattr(frames, name)},
    }


def sees(spark: SparkSession, table: str) -> bool:
    """Return whether a session's own ``sql`` finds an ACID table."""
    try:
        rows = spark.sql(f"SELECT * FROM {table}")
    except AnalysisException as error:
        if condition_of(error) != "TABLE_OR_VIEW_NOT_FOUND":
            raise
        return False
    return "id" in rows.columns


def test_disabling_restores_the_very_methods(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    before = methods(lab.spark)
    acidsql.enable(lab.spark)
    during = methods(lab.spark)
    assert [name for name in before if during[name] is before[name]] == []
    assert sees(lab.spark, t)
    reader, catalog = lab.spark.read, lab.spark.catalog
    writer = lab.spark.range(1).write
    acidsql.disable(lab.spark)
    assert all(method is before[name] for name, method in methods(lab.spark).items())
    assert not sees(lab.spark, t)
    assert lab.spark.conf.get("acidsql.enabled", None) is None
    assert not catalog.tableExists(t)
    with pytest.raises(AnalysisException):
        reader.table(t)
    with pytest.raises(AnalysisException):
        writer.insertInto(t)
    acidsql.disable(lab.spark)


def test_enabling_twice_is_enabling_once(on: Lab) -> None:
    t = on.create("id int", values="(1)")
    during = methods(on.spark)
    acidsql.enable(on.spark)
    assert all(method is during[name] for name, method in methods(on.spark).items())
    acidsql.disable(on.spark)
    assert not sees(on.spark, t)


def test_every_handle_of_a_session_is_enabled(on: Lab) -> None:
    t = on.create("id int", values="(1)")
    assert sees(SparkSession.builder.getOrCreate(), t)
    assert sees(on.spark.table(t).sparkSession, t)
    assert sees(on.spark.range(1).sparkSession, t)
    on.spark.createDataFrame([(1,)], "id INT")  # makes the session the active one
    active = SparkSession.getActiveSession()
    assert active is not None
    assert sees(active, t)


def test_a_new_session_is_not_enabled(on: Lab, new_lab: Callable[..., Lab]) -> None:
    t = on.create("id int", values="(1)")
    other = new_lab().spark
    assert not sees(other, t)
    acidsql.enable(other)
    acidsql.disable(on.spark)
    assert sees(other, t)
    assert not sees(on.spark, t)
    assert type(on.spark.range(1).write).__module__ == "pyspark.sql.readwriter"
    acidsql.disable(other)
    assert not sees(other, t)


def test_only_sessions_with_a_jvm_of_their_own() -> None:
    for wrong in (None, "spark", object()):
        with pytest.raises(TypeError, match="SparkSession"):
            acidsql.enable(wrong)
        with pytest.raises(TypeError, match="SparkSession"):
            acidsql.disable(wrong)


@pytest.mark.slow
def test_a_metastore_that_cannot_be_opened_enables_nothing(new_lab: Callable[..., Lab]) -> None:
    spark = new_lab(spark__acidsql__metastore="thrift://127.0.0.1:1").spark
    before = methods(spark)
    with pytest.raises(acidsql.AcidSqlError):
        acidsql.enable(spark)
    assert methods(spark) == before
    spark.conf.unset("spark.acidsql.metastore")


def test_a_wrapper_of_somebody_else_stays(on: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    t = on.create("id int", values="(1)")
    ours, texts = SparkSession.sql, []

    def logged(self: SparkSession, sqlQuery: str, *args: Any, **kwargs: Any) -> DataFrame:  # noqa: N803
        texts.append(sqlQuery)
        return ours(self, sqlQuery, *args, **kwargs)

    monkeypatch.setattr(SparkSession, "sql", logged)
    assert sees(on.spark, t)
    acidsql.disable(on.spark)
    assert SparkSession.sql is logged
    assert not sees(on.spark, t)
    acidsql.enable(on.spark)
    assert sees(on.spark, t)
    acidsql.disable(on.spark)
    assert SparkSession.sql is logged
    assert texts == [f"SELECT * FROM {t}"] * 2


@pytest.mark.slow
def test_statements_of_every_kind(on: Lab) -> None:
    spark = on.spark
    t = on.create("id int, v string", values="(1, 'a'), (2, 'b')")
    counts = spark.sql(f"UPDATE {t} SET v = :v WHERE id = :id", args={"v": "B", "id": 2})
    assert [tuple(row) for row in counts.collect()] == [(1, 1)]
    news = spark.createDataFrame([(2, "z"), (3, "c")], "id int, v string")
    merged = spark.sql(
        f"MERGE INTO {t} USING {{text}} s ON {t}.id = s.id WHEN MATCHED THEN DELETE "
        "WHEN NOT MATCHED THEN INSERT *",
        text=news,
    )
    assert [tuple(row) for row in merged.collect()] == [(2, 0, 1, 1)]
    assert spark.sql(f"SELECT id FROM {t} WHERE id > ? ORDER BY id", [0]).collect() == [(1,), (3,)]
    assert spark.sql(f"SELECT * FROM {t} a JOIN {t} b USING (id)").count() == 2


def test_other_statements_are_spark_s_own(on: Lab) -> None:
    spark = on.spark
    texts = ["SELECT :a AS one", "SELECT :a", "SHOW FUNCTIONS LIKE 'abs'", "SET spark.app.name"]
    args: dict[str, Any] = {"a": 1.5}
    enabled = [spark.sql(text, args if ":a" in text else None) for text in texts]
    acidsql.disable(spark)
    plain = [spark.sql(text, args if ":a" in text else None) for text in texts]
    assert [f.schema for f in enabled] == [f.schema for f in plain]
    assert [f.collect() for f in enabled] == [f.collect() for f in plain]
    acidsql.enable(spark)
    with pytest.raises(ParseException):
        spark.sql("SELEC 1")
    with pytest.raises(AnalysisException) as caught:
        spark.sql("SELECT * FROM nowhere_at_all")
    assert condition_of(caught.value) == "TABLE_OR_VIEW_NOT_FOUND"


@pytest.mark.slow
def test_tables_are_read_by_name(on: Lab) -> None:
    spark = on.spark
    t = on.create("id int", values="(1)")
    for name in (t, f"default.{t}", f"spark_catalog.default.`{t}`"):
        assert spark.table(name).collect() == [(1,)]
        assert spark.read.table(name).collect() == [(1,)]
        assert spark.read.option("mergeSchema", True).table(name).count() == 1
    assert spark.table(t).select(f"{t}.id", "row__id.writeid").collect() == [(1, 1)]
    spark.range(2).createOrReplaceTempView(t)
    assert spark.table(t).count() == spark.read.table(t).count() == 2
    spark.catalog.dropTempView(t)
    assert spark.table(t).count() == 1


def test_readers_that_ask_for_what_is_not_there(on: Lab) -> None:
    t = on.create("id int", values="(1)")
    for options in ({"versionAsOf": 2}, {"timestampAsOf": "1999-01-01"}):
        with pytest.raises(AcidAnalysisError) as caught:
            on.spark.read.options(**options).table(t)
        assert caught.value.getCondition() == "VERSION_NOT_FOUND"
    on.insert(t, "(2)")
    assert on.spark.read.option("versionAsOf", "1").table(t).collect() == [(1,)]
    with pytest.raises(AnalysisException):
        on.spark.read.schema("id int").table(t)
    for name in ("nope_at_all", "no such name", "a.b.c.d"):
        for read in (on.spark.table, on.spark.read.table):
            with pytest.raises((AnalysisException, ParseException)):
                read(name)


def test_spark_s_tables_and_files_are_read_as_before(on: Lab, tmp_path: Any) -> None:
    spark = on.spark
    spark.range(3).write.saveAsTable("enabled_plain")
    assert spark.table("enabled_plain").count() == spark.read.table("enabled_plain").count() == 3
    spark.range(2).write.orc(f"{tmp_path}/files")
    assert spark.read.orc(f"{tmp_path}/files").count() == 2
    assert spark.read.format("orc").schema("id long").load(f"{tmp_path}/files").count() == 2
    assert spark.table(f"orc.`{tmp_path}/files`").count() == 2
    spark.sql("DROP TABLE enabled_plain")


@pytest.mark.slow
@pytest.mark.skipif(pyspark.__version__ < "4", reason="data sources in Python came with Spark 4")
def test_the_format_acidsql_needs_no_registration(new_lab: Callable[..., Lab]) -> None:
    lab = new_lab()
    spark = lab.spark
    t = lab.create("id int", values="(1)")
    acidsql.enable(spark)
    try:
        spark.read.table(t).write.format("acidsql").mode("append").save(f"default.{t}")
        assert spark.read.format("acidsql").load(f"default.{t}").count() == 2
        assert spark.read.load(f"default.{t}", "acidsql").count() == 2
        spark.sql(f"CREATE TEMPORARY VIEW seen USING acidsql OPTIONS (path 'default.{t}')")
        assert spark.sql("SELECT id FROM seen").collect() == [(1,), (1,)]
        changes = spark.readStream.format("acidsql").option("readChangeFeed", "true")
        assert changes.load(f"default.{t}").isStreaming
    finally:
        acidsql.disable(spark)


def test_streams(on: Lab) -> None:
    t = on.create("id bigint")
    with pytest.raises(AcidAnalysisError) as caught:
        on.spark.readStream.table(t)
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_READ"
    rates = on.spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    with pytest.raises(AcidAnalysisError) as caught:
        rates.writeStream.toTable(t)
    assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.STREAMING_WRITE"
    told = str(caught.value).partition(" with ")[2]
    assert told == f"acidsql.write_stream(frame, '{t}', 'checkpoint').start()"
    call = next(
        node for node in ast.walk(ast.parse(told)) if isinstance(node, ast.Call) and node.args
    )
    signature(acidsql.write_stream).bind(*call.args)  # has all that is required


def test_batches_of_a_stream_write_acid_tables(on: Lab, tmp_path: Any) -> None:
    t = on.create("id bigint")
    on.spark.range(5).write.orc(f"{tmp_path}/source")
    source = on.spark.readStream.schema("id bigint").orc(f"{tmp_path}/source")

    def write(batch: DataFrame, _number: int) -> None:
        batch.write.insertInto(t)

    query = (
        source.writeStream.foreachBatch(write)
        .option("checkpointLocation", f"{tmp_path}/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert query.exception() is None
    assert on.rows(t) == [(i,) for i in range(5)]
    assert on.root(t).is_dir()


@pytest.mark.repeated
def test_threads_of_one_session(on: Lab) -> None:
    t = on.create("id int")
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for i in range(3):
                on.spark.range(1).select(F.lit(number * 10 + i).alias("id")).write.insertInto(t)
                assert on.spark.table(t).where(F.col("id") == number * 10 + i).count() == 1
                assert on.spark.sql(f"SELECT {number}").collect() == [(number,)]
        except BaseException as error:  # noqa: BLE001 - shown by the test's thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(on.rows(t)) == 9


def test_acidsql_itself_reaches_spark_s_own_methods(
    on: Lab, new_lab: Callable[..., Lab], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that statements of acidsql itself do not go through the replaced methods."""
    t = on.create("id int, v string", partitioned="p int", values="(1, 'a', 1)")
    calls: list[str] = []
    run = acidsql.api.run

    def counted(spark: SparkSession, text: str, *args: Any) -> DataFrame:
        calls.append(text)
        return run(spark, text, *args)

    monkeypatch.setattr(acidsql.api, "run", counted)
    text = f"INSERT OVERWRITE {t} PARTITION (p = 1) SELECT id, v FROM {t} UNION ALL SELECT 2, 'b'"
    on.spark.sql(text)
    on.spark.sql("SHOW TABLES")
    on.spark.table(t).write.mode("overwrite").saveAsTable(t)
    assert calls == [text, "SHOW TABLES", f"SELECT * FROM `{t}`"]
    fresh = new_lab().spark
    acidsql.enable(fresh)
    before = AcidSession.of(fresh)
    assert AcidSession.of(fresh) is before
    acidsql.disable(fresh)


def test_the_catalog_that_was_taken_before_stays_spark_s(lab: Lab) -> None:
    t = lab.create("id int")
    before = lab.spark.catalog
    acidsql.enable(lab.spark)
    assert isinstance(lab.spark.catalog, Catalog)
    assert (before.tableExists(t), lab.spark.catalog.tableExists(t)) == (False, True)
    acidsql.disable(lab.spark)
    assert lab.spark.catalog is before
