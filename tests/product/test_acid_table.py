"""Tests of the methods of ``AcidTable``."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException, PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import acidsql
from acidsql import AcidSqlError, AcidTable
from acidsql.errors import AcidAnalysisError
from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

PETS = "(1, 'Rex', 3), (2, 'Tom', 5), (3, 'Ada', 7)"
COLUMNS = "id int, name string, age int"


def pets(lab: Lab) -> tuple[str, AcidTable]:
    t = lab.create(COLUMNS, values=PETS)
    return t, AcidTable.forName(lab.spark, t)


def news(lab: Lab, *rows: tuple[int, str, int]) -> DataFrame:
    return lab.spark.createDataFrame(rows, COLUMNS).alias("s")


@pytest.mark.slow
def test_for_name_finds_transactional_tables_and_nothing_else(lab: Lab) -> None:
    t = lab.create("id int", values="(1)")
    lab.sql("CREATE DATABASE IF NOT EXISTS shop")
    lab.sql("CREATE TABLE shop.item (id int) STORED AS ORC TBLPROPERTIES ('transactional'='true')")
    lab.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    lab.sql(f"CREATE TEMPORARY VIEW {t}_temp AS SELECT * FROM {t}")
    lab.spark.range(1).write.saveAsTable(f"{t}_plain")
    for name in (t, t.upper(), f"`{t}`", f"default.{t}", f"spark_catalog.default.{t}"):
        assert AcidTable.forName(lab.spark, name).toDF().collect() == [(1,)], name
    assert AcidTable.forName(lab.spark, "shop.item").toDF().collect() == []
    for name, condition in {
        "nope": "TABLE_OR_VIEW_NOT_FOUND",
        "item": "TABLE_OR_VIEW_NOT_FOUND",
        "nowhere.item": "TABLE_OR_VIEW_NOT_FOUND",
        f"{t}_plain": "NOT_A_TRANSACTIONAL_TABLE",
        f"{t}_view": "EXPECT_TABLE_NOT_VIEW",
        f"{t}_temp": "EXPECT_TABLE_NOT_VIEW",
    }.items():
        with pytest.raises(AcidSqlError) as caught:
            AcidTable.forName(lab.spark, name)
        assert caught.value.getCondition() == condition, name
    for name in ("", "a b", "t;"):
        with pytest.raises(ParseException):
            AcidTable.forName(lab.spark, name)
    lab.sql(f"DROP VIEW {t}_temp")
    lab.spark.sql(f"DROP TABLE {t}_plain")
    lab.sql("DROP DATABASE shop CASCADE")


@pytest.mark.slow
def test_to_df_gives_the_rows_as_of_now_and_hides_row_id(lab: Lab) -> None:
    _, table = pets(lab)
    before = table.toDF()
    assert before.schema.simpleString() == "struct<id:int,name:string,age:int>"
    table.delete("id > 1")
    assert before.count() == 3
    assert table.toDF().collect() == [(1, "Rex", 3)]
    assert table.toDF().select("id", "row__id.writeid", "row__id.rowid").collect() == [(1, 1, 0)]
    assert table.alias("p").toDF().select("p.id", F.col("p.name")).collect() == [(1, "Rex")]


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("change", "counts", "ages"),
    [
        (lambda t: t.update(set={"age": "age + 1"}), (3, 3), [4, 6, 8]),
        (lambda t: t.update("id = 2", {"age": "0"}), (1, 1), [3, 0, 7]),
        (lambda t: t.update(condition="id = 9", set={"age": "0"}), (0, 0), [3, 5, 7]),
        (lambda t: t.update(F.col("id") < 3, {"age": F.col("age") * 2}), (2, 2), [6, 10, 7]),
        (lambda t: t.update("id=1", {"age": "DEFAULT", "name": F.lit(None)}), (1, 1), [None, 5, 7]),
        (lambda t: t.update(F.expr("id IN (1, 2)"), {"`AGE`": "id"}), (2, 2), [1, 2, 7]),
        (lambda t: t.alias("p").update("p.id = 1", {"p.age": "p.id"}), (1, 1), [1, 5, 7]),
        (lambda t: t.update(t.toDF().id == 3, {"age": t.toDF()["id"]}), (1, 1), [3, 5, 3]),
        (lambda t: t.update("id = 1 -- Rex", {"age": "9 /* of */ -- years"}), (1, 1), [9, 5, 7]),
        (
            lambda t: t.update(
                F.col("name").isin("Rex", "Tom") & F.col("name").like("%x"),
                {"age": F.when(F.col("age") > 3, 0).otherwise(F.length("name").cast("int"))},
            ),
            (1, 1),
            [3, 5, 7],
        ),
        (lambda t: t.delete("id = 2 OR age = 7"), (2, 2), [3]),
        (lambda t: t.delete(condition=~F.col("name").startswith("R")), (2, 2), [3]),
        (lambda t: t.alias("p").delete("p.id = 1"), (1, 1), [5, 7]),
        (lambda t: t.delete(F.col("name").isNull()), (0, 0), [3, 5, 7]),
        (lambda t: t.delete(), (3, 3), []),
    ],
)
def test_update_and_delete(
    lab: Lab,
    change: Callable[[AcidTable], DataFrame],
    counts: tuple[int, int],
    ages: list[int | None],
) -> None:
    t, table = pets(lab)
    answer = change(table)
    assert answer.collect() == [counts]
    assert answer.columns[0] == "num_affected_rows"
    assert [age for _, age in lab.rows(t, "id, age")] == ages


@pytest.mark.repeated
def test_merge_takes_every_clause_in_the_order_given(lab: Lab) -> None:
    t = lab.create(
        COLUMNS, values="(1, 'a', 1), (2, 'b', 2), (3, 'c', 3), (7, 'g', 7), (8, 'h', 8)"
    )
    table = AcidTable.forName(lab.spark, f"default.{t}")
    source = news(lab, (1, "A", 10), (2, "B", 20), (3, "C", 30), (4, "D", 40), (5, "E", 50))
    merge = (
        table.alias("t")
        .merge(source, F.col("t.id") == F.col("s.id"))
        .whenMatchedDelete("s.age = 10")
        .whenMatchedUpdate(F.col("s.age") == 20, {"name": F.concat("t.name", F.lit("{'}"))})
        .whenMatchedUpdateAll()
        .whenNotMatchedInsert("s.id = 4", {"id": "s.id", "`name`": F.upper(F.lit("d{}"))})
        .whenNotMatchedInsertAll(F.col("s.id") == 5)
        .whenNotMatchedBySourceUpdate("t.id = 7", {"age": F.col("t.age") + 1})
        .whenNotMatchedBySourceDelete()
    )
    before = lab.state(t)
    assert len(before.rows) == 5
    answer = merge.execute()
    assert answer.columns == [
        "num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows",
    ]  # fmt: skip
    assert answer.collect() == [(7, 3, 2, 2)]
    assert lab.rows(t) == [
        (2, "b{'}", 2), (3, "C", 30), (4, "D{}", None), (5, "E", 50), (7, "g", 8),
    ]  # fmt: skip


@pytest.mark.slow
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    ("clause", "counts", "rows"),
    [
        (
            lambda m: m.whenMatchedUpdate(set={"age": "s.age"}),
            (1, 1, 0, 0),
            [(1, "Rex", 9), (2, "Tom", 5), (3, "Ada", 7)],
        ),
        (
            lambda m: m.whenMatchedUpdateAll("s.age > 5"),
            (1, 1, 0, 0),
            [(1, "Max", 9), (2, "Tom", 5), (3, "Ada", 7)],
        ),
        (
            lambda m: m.whenMatchedDelete(F.col("s.age") > 9),
            (0, 0, 0, 0),
            [(1, "Rex", 3), (2, "Tom", 5), (3, "Ada", 7)],
        ),
        (
            lambda m: m.whenNotMatchedInsert(values={"id": "s.id", "age": F.lit(0)}),
            (1, 0, 0, 1),
            [(1, "Rex", 3), (2, "Tom", 5), (3, "Ada", 7), (4, None, 0)],
        ),
        (
            lambda m: m.whenNotMatchedBySourceUpdate(set={"name": "'gone'"}),
            (2, 2, 0, 0),
            [(1, "Rex", 3), (2, "gone", 5), (3, "gone", 7)],
        ),
        (
            lambda m: m.whenNotMatchedBySourceDelete(condition="age = 7"),
            (1, 0, 1, 0),
            [(1, "Rex", 3), (2, "Tom", 5)],
        ),
    ],
)
def test_each_clause_by_itself_under_the_tables_own_name(
    lab: Lab, clause: Callable[[Any], Any], counts: tuple[int, ...], rows: list[Any]
) -> None:
    t, table = pets(lab)
    merge = table.merge(news(lab, (1, "Max", 9), (4, "Kit", 1)), f"{t}.id = s.id -- the key")
    assert clause(merge).execute().collect() == [counts]
    assert lab.rows(t) == rows


@pytest.mark.repeated
def test_builders_are_values_that_run_when_they_are_executed(lab: Lab) -> None:
    t, table = pets(lab)
    before = lab.state(t)
    merge = table.merge(news(lab, (1, "Max", 9)), f"{t}.id = s.id")
    delete, update = merge.whenMatchedDelete(), merge.whenMatchedUpdateAll()
    table.optimize().where("p = 1")
    assert lab.state(t) == before
    assert [update.execute().head()[0], update.execute().head()[0]] == [1, 1]
    assert lab.rows(t)[0] == (1, "Max", 9)
    assert delete.execute().collect() == [(1, 0, 1, 0)]
    assert update.execute().collect() == [(0, 0, 0, 0)]
    assert lab.rows(t) == [(2, "Tom", 5), (3, "Ada", 7)]


@pytest.mark.slow
def test_merge_with_sources_that_have_no_alias(lab: Lab) -> None:
    t, table = pets(lab)
    source = lab.spark.createDataFrame([(1, 30), (9, 90)], "key int, years int")
    assert table.merge(source, "id = key").whenMatchedUpdate(
        set={"age": "years"}
    ).execute().collect() == [(1, 1, 0, 0)]
    # The table itself, and a query on it, as the source.
    merge = table.alias("old").merge(table.toDF().where("id < 3").alias("new"), "old.id = new.id")
    assert merge.whenMatchedUpdate(
        set={"name": F.concat("new.name", F.lit("!"))}
    ).whenNotMatchedBySourceDelete().execute().collect() == [(3, 2, 1, 0)]
    assert lab.rows(t) == [(1, "Rex!", 30), (2, "Tom!", 5)]


@pytest.fixture(scope="module")
def unchanged(spark: SparkSession) -> str:
    """Return a table that no test changes."""
    return Lab(spark).create(COLUMNS, values=PETS)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t, _: t.update(), "set is None"),
        (lambda t, _: t.update("id = 1", {}), "set is {}"),
        (lambda t, _: t.update({"age": "1"}), "is neither SQL text nor a Column"),
        (lambda t, _: t.update(set={"age": 5}), "5 is neither SQL text nor a Column"),
        (lambda t, _: t.update(set={"age": None}), "None is neither SQL text nor a Column"),
        (lambda t, _: t.delete(True), "True is neither SQL text nor a Column"),
        (lambda t, s: t.merge(s, ["id"]), "is neither SQL text nor a Column"),
        (lambda t, _: t.merge("s", "true"), "the source is 's': give a DataFrame"),
        (lambda t, s: t.merge(s, "true").whenMatchedUpdate("s.id = 1"), "set is None"),
        (lambda t, s: t.merge(s, "true").whenNotMatchedInsert(values=[1]), r"values is \[1\]"),
        (lambda t, s: t.merge(s, "true").whenNotMatchedBySourceUpdate(), "set is None"),
    ],
)
def test_arguments_of_the_wrong_kind_are_type_errors(
    lab: Lab, unchanged: str, call: Callable[[AcidTable, DataFrame], Any], message: str
) -> None:
    before = lab.state(unchanged)
    with pytest.raises(TypeError, match=message):
        call(AcidTable.forName(lab.spark, unchanged), lab.spark.range(1).alias("s"))
    assert lab.state(unchanged) == before


def test_texts_that_are_no_expression_change_nothing(lab: Lab) -> None:
    t, table = pets(lab)
    before = lab.state(t)
    merge = table.merge(news(lab, (1, "Max", 9)), f"{t}.id = s.id")
    for call in (
        lambda: table.delete(f"id = 1; DROP TABLE {t}"),
        lambda: table.delete("(id = 1"),
        lambda: table.delete(""),
        lambda: table.delete("id = 1 /* open"),
        lambda: table.update("id = 2", {"age": "0 WHERE id = 1 --"}),
        lambda: table.update("id = 2", {"age": "0, name = 'x'"}),
        lambda: table.update("id = 2", {"age = 0, name": "'x'"}),
        lambda: table.update("id = 2", {"my age": "1"}),
        lambda: table.merge(news(lab), "true WHEN MATCHED THEN DELETE"),
        lambda: merge.whenMatchedDelete("true THEN UPDATE SET *"),
        lambda: merge.whenNotMatchedInsert(values={"id": "1), (2"}),
        merge.execute,
        lambda: merge.whenMatchedDelete().whenMatchedUpdateAll().execute(),
    ):
        with pytest.raises(ParseException):
            call()
    for call, condition in (
        (lambda: table.update("nope = 2", {"age": "0"}), "UNRESOLVED_COLUMN.WITH_SUGGESTION"),
        (
            lambda: merge.whenMatchedUpdate(set={"name": "nope"}).execute(),
            "UNRESOLVED_COLUMN.WITH_SUGGESTION",
        ),
        (lambda: table.delete(F.col("age")), "DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN"),
        (lambda: merge.whenMatchedUpdate("id = 1", {"age": "0"}).execute(), "AMBIGUOUS_REFERENCE"),
    ):
        with pytest.raises(AnalysisException) as caught:
            call()
        assert caught.value.getErrorClass() == condition
    assert lab.state(t) == before


@pytest.mark.slow
def test_columns_that_have_no_text_are_refused_and_their_texts_are_not(lab: Lab) -> None:
    t, table = pets(lab)
    before = lab.state(t)
    doubled = F.udf(lambda text: text * 2)
    letters = F.split("name", "")
    for value in (
        doubled("name"),
        F.concat(F.lit("x"), doubled("name")),
        F.array_join(F.transform(letters, lambda letter: F.concat(letter, letter)), "-"),
    ):
        for call in (
            lambda value=value: table.update(set={"name": value}),
            lambda value=value: table.delete(value == "x"),
            lambda value=value: lab.sql(f"DELETE FROM {t} WHERE name = ?", args=[value]),
        ):
            with pytest.raises(
                AcidAnalysisError, match="give the expression as SQL text"
            ) as caught:
                call()
            assert caught.value.getCondition() == "UNSUPPORTED_FEATURE.COLUMN_WITHOUT_TEXT"
    assert lab.state(t) == before
    table.update(set={"name": "array_join(transform(split(name, ''), c -> upper(c)), '-')"})
    assert lab.rows(t, "name") == [("A-D-A",), ("R-E-X",), ("T-O-M",)]


@pytest.mark.slow
def test_optimize_compacts(lab: Lab) -> None:
    t, table = pets(lab)
    table.update("id = 1", {"age": "0"})
    rows = lab.rows(t)
    acidsql.release(lab.spark)
    (done,) = table.optimize().executeCompaction().collect()
    assert (done.tabname, done.partname, done.type) == (t, None, "major")
    (base,) = lab.directories(t)
    assert re.fullmatch(r"base_0000002_v\d{7}", base)
    assert lab.rows(t) == rows
    acidsql.release(lab.spark)
    table.delete("id = 2")
    (done,) = table.optimize().executeCompaction("minor").collect()
    assert done.type == "minor"
    assert lab.rows(t) == rows[:1] + rows[2:]
    with pytest.raises(AcidAnalysisError) as caught:
        table.optimize().executeCompaction("full")
    assert caught.value.getCondition() == "INVALID_COMPACTION_TYPE"


def test_optimize_compacts_a_partition(lab: Lab) -> None:
    t = lab.create("id int", partitioned="p int, q string", values="(1, 1, 'a'), (2, 1, 'b')")
    table = AcidTable.forName(lab.spark, t)
    table.update(set={"id": "id + 1"})
    (done,) = table.optimize().where("p = 1, q = 'a'").executeCompaction().collect()
    assert (done.partname, done.type) == ("p=1/q=a", "major")
    for partition, condition in {
        "p = 9": "PARTITIONS_NOT_FOUND",
        "r = 1": "PARTITIONS_NOT_FOUND",
    }.items():
        with pytest.raises(AcidSqlError) as caught:
            table.optimize().where(partition).executeCompaction()
        assert caught.value.getCondition() == condition
    for predicate in ("p > 1", "p = 1 AND q = 'a'"):
        with pytest.raises(PySparkException):
            table.optimize().where(predicate).executeCompaction()
    bases = [path for path in lab.tree(t) if re.search(r"/base_\d+_v\d+/$", path)]
    assert [base.rpartition("/base_0000002")[0] for base in bases] == ["p=1/q=a"]
