"""Tests of ``df.writeTo`` and ``df.mergeInto`` of enabled sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameWriterV2

from tests.product.enabled import ONLY, frame, parts, refused

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


# --- writeTo


def test_write_to_appends_by_name(on: Lab) -> None:
    t = on.create("id int, v string DEFAULT 'none'", values="(1, 'a')")
    writer = frame(on, "v string, id int", ("b", 2)).writeTo(t)
    assert isinstance(writer, DataFrameWriterV2)
    writer.append()
    frame(on, "id int", (3,)).writeTo(f"default.{t}").append()
    assert on.rows(t) == [(1, "a"), (2, "b"), (3, "none")]
    assert refused(lambda: frame(on, "x int", (1,)).writeTo(t).append()) == (
        "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS"
    )


@pytest.mark.slow
def test_write_to_overwrites_what_a_condition_finds(on: Lab) -> None:
    t = on.create("id int, v string, p int", values="(1, 'a', 1), (2, 'b', 1), (3, 'c', 2)")
    news = frame(on, "id int, v string, p int", (4, "d", 1))
    news.writeTo(t).overwrite(F.col("p") == 1)
    assert on.rows(t) == [(3, "c", 2), (4, "d", 1)]
    assert on.rows(t, "row__id.writeid") == [(1,), (2,)]
    assert on.directories(t) == [
        "delete_delta_0000002_0000002_0000",
        "delta_0000001_0000001_0000",
        "delta_0000002_0000002_0000",
    ]
    news.writeTo(t).overwrite(F.expr("v = 'nothing'") & F.col("id").isNull())
    assert len(on.rows(t)) == 3
    on.spark.table(t).where("id = 3").writeTo(t).overwrite(F.lit(True))
    assert on.rows(t) == [(3, "c", 2)]


@pytest.mark.repeated
def test_write_to_overwrites_partitions(on: Lab) -> None:
    t = parts(on)
    frame(on, "v int, p int", (10, 1), (11, 3)).writeTo(t).overwritePartitions()
    assert on.rows(t) == [(10, 1), (11, 3), (2, 2)]
    frame(on, "p int, v int", (2, 20)).writeTo(t).overwrite(F.col("p") >= 2)
    assert on.rows(t) == [(10, 1), (20, 2)]
    frame(on, "v int, p int", (30, 3)).writeTo(t).overwrite(F.lit(True))
    assert on.rows(t) == [(30, 3)]
    with on.settings(spark__sql__sources__partitionOverwriteMode="static"):
        frame(on, "v int, p int", (40, 4)).writeTo(t).overwritePartitions()
    assert on.rows(t) == [(30, 3), (40, 4)]


def test_write_to_merges_schemas(on: Lab) -> None:
    t = parts(on)
    frame(on, "w int, v int, p int", (5, 10, 1)).writeTo(t).option("mergeSchema", "true").append()
    assert (10, 5, 1) in on.rows(t)
    more = frame(on, "w int, v int, p int, x int", (6, 11, 1, 7)).writeTo(t)
    more.option("mergeSchema", "true").overwritePartitions()
    assert on.rows(t) == [(11, 6, 7, 1), (2, None, None, 2)]
    other = frame(on, "w int, v int, p int, y int", (6, 12, 1, 7)).writeTo(t)
    merging = other.option("mergeSchema", "true")
    assert refused(lambda: merging.overwrite(F.col("p") == 1)) == "UNSUPPORTED_FEATURE.WRITE_OPTION"
    merging.overwrite(F.lit(True))
    assert on.rows(t) == [(12, 6, None, 7, 1)]


def test_write_to_makes_transactional_tables_and_replaces_them(on: Lab) -> None:
    rows = frame(on, "id int, p int", (1, 1), (2, 2))
    new = "enabled_created"

    def writer() -> DataFrameWriterV2:
        return rows.writeTo(new).using("orc").tableProperty("Transactional", "true")

    writer().partitionedBy(F.col("p")).tableProperty("orc.compress", "snappy").create()
    assert on.rows(new) == [(1, 1), (2, 2)]
    assert on.sql(f"SHOW PARTITIONS {new}") == [("p=1",), ("p=2",)]
    before = on.state(new)
    for write, expected in (
        (writer().create, "TABLE_OR_VIEW_ALREADY_EXISTS"),
        (rows.writeTo(new).using("parquet").createOrReplace, "UNSUPPORTED_FEATURE.REPLACE_TABLE"),
        (writer().option("mergeSchema", "maybe").append, "UNSUPPORTED_FEATURE.WRITE_OPTION"),
    ):
        assert refused(write) == expected
    assert on.state(new) == before
    on.spark.table(new).select("p").writeTo(new).createOrReplace()
    assert on.rows(new) == [(1,), (2,)]
    writer().partitionedBy("id").replace()
    assert on.rows(new) == [(1, 1), (2, 2)]
    assert on.sql(f"SHOW PARTITIONS {new}") == [("id=1",), ("id=2",)]
    on.sql(f"DROP TABLE {new}")
    assert refused(rows.writeTo(new).using("acidsql").replace) == "TABLE_OR_VIEW_NOT_FOUND"
    assert refused(writer().partitionedBy(F.bucket(2, "id")).create) == (
        "UNSUPPORTED_FEATURE.PARTITION_TRANSFORM"
    )
    assert refused(
        rows.writeTo(new).tableProperty("transactional", "true").using("csv").create
    ) == ("UNSUPPORTED_FEATURE.STORED_AS")
    writer().createOrReplace()
    assert on.rows(new) == [(1, 1), (2, 2)]
    on.sql(f"DROP TABLE {new}")
    with pytest.raises(PySparkException):  # says Spark
        writer().replace()
    assert not on.spark.catalog.tableExists(new)


def test_write_to_writes_spark_s_tables_as_before(on: Lab) -> None:
    rows = frame(on, "id int", (1,))
    rows.writeTo("enabled_v2").using("parquet").create()
    assert on.spark.table("enabled_v2").count() == 1
    with pytest.raises(AnalysisException):
        rows.writeTo("enabled_v2").append()
    assert refused(rows.writeTo("nope_at_all").append) == "TABLE_OR_VIEW_NOT_FOUND"
    on.spark.sql("DROP TABLE enabled_v2")


# --- mergeInto


@pytest.fixture
def merging(on: Lab) -> Lab:
    """Return an enabled session of a Spark that has mergeInto."""
    if not hasattr(DataFrame, "mergeInto"):
        pytest.skip("mergeInto is new in Spark 4.0")
    return on


@pytest.mark.slow
def test_merge_into_with_all_its_clauses(merging: Lab) -> None:
    t = merging.create(
        "id int, v string, n int", values="(1,'a',1), (2,'b',2), (3,'c',3), (4,'d',4)"
    )
    source = frame(merging, "id int, v string, n int", (1, "A", 10), (2, "B", 20), (9, "I", 90))
    (
        source.alias("s")
        .mergeInto(t, F.expr(f"{t}.id = s.id"))
        .whenMatched(F.col("s.n") > 15)
        .delete()
        .whenMatched()
        .update({"v": F.col("s.v"), f"{t}.n": F.col(f"{t}.n") + F.col("s.n")})
        .whenNotMatched(F.col("s.id") < 0)
        .insertAll()
        .whenNotMatched()
        .insert({"id": F.col("s.id"), "v": F.lit("new")})
        .whenNotMatchedBySource(F.col(f"{t}.id") == 3)
        .update({"v": F.lit("gone")})
        .whenNotMatchedBySource()
        .delete()
        .merge()
    )
    assert merging.rows(t) == [(1, "A", 11), (3, "gone", 3), (9, "new", None)]
    source.alias("s").mergeInto(t, F.expr(f"{t}.id = s.id")).whenMatched().updateAll().merge()
    assert merging.rows(t)[0] == (1, "A", 10)


@pytest.mark.repeated
def test_merge_into_knows_its_source_by_the_names_it_has(merging: Lab) -> None:
    t = merging.create("id int, v string", values="(1, 'a')")
    merging.spark.sql("SELECT 1 AS id, 'x' AS v").createOrReplaceTempView("news")
    source = merging.spark.table("news").where("id > 0")
    on_ids = F.col(f"{t}.id") == F.col("news.id")
    source.mergeInto(t, on_ids).whenMatched().update({"v": F.col("news.v")}).merge()
    assert merging.rows(t) == [(1, "x")]
    u = merging.create("id int, v string", values="(1, 'y')")
    matched = merging.spark.table(u).mergeInto(t, F.expr(f"{t}.id = {u}.id")).whenMatched()
    matched.updateAll().merge()
    assert merging.rows(t) == [(1, "y")]
    merging.spark.catalog.dropTempView("news")


def test_merge_into_evolves(merging: Lab) -> None:
    t = merging.create("id int", values="(1)")
    source = frame(merging, "id int, v string", (1, "x"), (2, "y")).alias("s")
    writer = source.mergeInto(t, F.expr(f"{t}.id = s.id")).withSchemaEvolution()
    writer.whenMatched().updateAll().whenNotMatched().insertAll().merge()
    assert merging.rows(t) == [(1, "x"), (2, "y")]


def test_merge_into_is_refused_with_what_it_cannot_do(merging: Lab) -> None:
    t = merging.create("id int", values="(1)")
    before = merging.state(t)
    source = frame(merging, "id int", (1,)).alias("s")
    condition = F.expr(f"{t}.id = s.id")
    assert refused(lambda: source.mergeInto(t, condition).whenNotMatchedBySource().updateAll()) == (
        "UNSUPPORTED_FEATURE.UPDATE_ALL_NOT_MATCHED_BY_SOURCE"
    )
    only = merging.create("id int", properties=ONLY, values="(1)")
    into_only = source.mergeInto(only, F.expr(f"{only}.id = s.id")).whenMatched().delete()
    assert refused(into_only.merge) == "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"
    merging.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    assert refused(lambda: source.mergeInto(f"{t}_view", condition)) == "EXPECT_TABLE_NOT_VIEW"
    assert merging.state(t) == before
    merging.sql(f"DROP VIEW {t}_view")
    unknown = source.mergeInto("nope_at_all", F.expr("nope_at_all.id = s.id")).whenMatched()
    with pytest.raises(PySparkException):
        unknown.delete().merge()
