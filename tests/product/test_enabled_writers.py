"""Tests of ``df.write`` of enabled sessions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import functions as F
from pyspark.sql.readwriter import DataFrameWriter

from tests.product.enabled import ONLY, frame, parts, refused

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark


# --- insertInto


def test_insert_into_appends_by_position(on: Lab) -> None:
    t = on.create("id int, v string", values="(1, 'a')")
    frame(on, "x int, y string", (2, "b")).write.insertInto(t)
    frame(on, "x int, y string", (3, "c")).write.mode("ignore").insertInto(f"default.{t}")
    frame(on, "x int, y string", (4, "d")).write.insertInto(t, overwrite=False)
    assert on.rows(t) == [(1, "a"), (2, "b"), (3, "c"), (4, "d")]
    assert isinstance(on.spark.range(1).write, DataFrameWriter)


@pytest.mark.repeated
def test_insert_into_overwrites_as_insert_overwrite_does(on: Lab) -> None:
    t = parts(on)
    frame(on, "x int, y int", (10, 1)).write.insertInto(t, overwrite=True)
    assert on.rows(t) == [(10, 1), (2, 2)]
    frame(on, "x int, y int", (11, 1)).write.mode("overwrite").insertInto(t)
    assert on.rows(t) == [(11, 1), (2, 2)]
    with on.settings(spark__sql__sources__partitionOverwriteMode="static"):
        frame(on, "x int, y int", (12, 3)).write.mode("overwrite").insertInto(t)
        assert on.rows(t) == [(12, 3)]
        on.insert(t, "(2, 2)")
        dynamic = frame(on, "x int, y int", (13, 3)).write.option(
            "partitionOverwriteMode", "dynamic"
        )
        dynamic.mode("overwrite").insertInto(t)
    assert on.rows(t) == [(13, 3), (2, 2)]
    assert "base_0000006" in [path.name for path in (on.root(t) / "p=3").iterdir()]


def test_insert_into_is_refused_with_what_it_cannot_carry(on: Lab) -> None:
    t = parts(on)
    on.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    before = on.state(t)
    writer = frame(on, "v int, p int", (9, 9)).write
    make: dict[Callable[[], Any], str] = {
        lambda: fresh().partitionBy("p").insertInto(t): "UNSUPPORTED_FEATURE.PARTITION_BY",
        lambda: fresh().bucketBy(2, "v").insertInto(t): "UNSUPPORTED_FEATURE.BUCKET_BY",
        lambda: fresh().bucketBy(2, "v").sortBy("v").insertInto(t): "UNSUPPORTED_FEATURE.BUCKET_BY",
        lambda: fresh().format("parquet").insertInto(t): "UNSUPPORTED_FEATURE.WRITE_FORMAT",
        lambda: fresh().option("compression", "zstd").insertInto(t): (
            "UNSUPPORTED_FEATURE.WRITE_OPTION"
        ),
        lambda: fresh().insertInto(f"{t}_view"): "EXPECT_TABLE_NOT_VIEW",
        lambda: fresh().options(partitionOverwriteMode="no").mode("overwrite").insertInto(t): (
            "INVALID_PARTITION_OVERWRITE_MODE"
        ),
        lambda: writer.insertInto("nope_at_all"): "TABLE_OR_VIEW_NOT_FOUND",
    }

    def fresh() -> DataFrameWriter:
        return frame(on, "v int, p int", (9, 9)).write

    for write, expected in make.items():
        assert refused(write) == expected
    assert on.state(t) == before
    on.sql(f"DROP VIEW {t}_view")


# --- saveAsTable


def test_save_as_table_has_spark_s_modes(on: Lab) -> None:
    t = on.create("id int, v string", values="(1, 'a')")
    news = frame(on, "v string, id int", ("b", 2))
    exists = "TABLE_OR_VIEW_ALREADY_EXISTS"
    assert refused(lambda: news.write.saveAsTable(t)) == exists
    assert refused(lambda: news.write.saveAsTable(t, mode="error")) == exists
    assert refused(lambda: news.write.mode("errorifexists").saveAsTable(t)) == exists
    news.write.mode("ignore").saveAsTable(t)
    assert on.rows(t) == [(1, "a")]
    news.write.mode("append").saveAsTable(t)
    news.write.saveAsTable(f"spark_catalog.default.{t}", format="orc", mode="append")
    assert on.rows(t) == [(1, "a"), (2, "b"), (2, "b")]
    news.write.mode("Overwrite").saveAsTable(t)
    assert on.rows(t) == [(2, "b")]
    with pytest.raises(Exception, match="(?i)mode"):
        news.write.mode("upsert")


def test_overwriting_keeps_the_table_and_its_history(on: Lab) -> None:
    t = on.create("id int", properties={"orc.compress": "zstd"}, values="(1), (2)")
    before = on.spark.table(t)
    assert "delta_0000001_0000001_0000" in on.directories(t)
    before.where("id = 2").write.mode("overwrite").saveAsTable(t)
    assert on.directories(t) == ["base_0000002", "delta_0000001_0000001_0000"]
    assert sorted(before.collect()) == [(1,), (2,)]
    assert on.rows(t, "id, row__id.writeid") == [(2, 2)]
    assert ("orc.compress", "zstd") in on.sql(f"SHOW TBLPROPERTIES {t}")


def test_overwriting_a_partitioned_table_replaces_all_of_it_unless_told(on: Lab) -> None:
    t = parts(on)
    news = frame(on, "v int, p int", (10, 1))
    news.write.mode("overwrite").option("partitionOverwriteMode", "dynamic").saveAsTable(t)
    assert on.rows(t) == [(10, 1), (2, 2)]
    with on.settings(spark__sql__sources__partitionOverwriteMode="dynamic"):
        news.write.mode("overwrite").saveAsTable(t)
        assert on.rows(t) == [(10, 1), (2, 2)]
    news.write.mode("overwrite").partitionBy("P").saveAsTable(t)
    assert on.rows(t) == [(10, 1)]


def test_save_as_table_is_refused_with_what_it_cannot_carry(on: Lab) -> None:
    t = parts(on)
    b = on.create("id int", clustered="(id) INTO 2 BUCKETS")
    on.sql(f"CREATE VIEW {t}_view AS SELECT * FROM {t}")
    before = on.state(t), on.state(b)

    def fresh(mode: str = "overwrite") -> DataFrameWriter:
        return frame(on, "v int, p int", (9, 9)).write.mode(mode)

    ids = frame(on, "id int", (9,))
    cases: list[tuple[Callable[[], Any], str]] = [
        (lambda: fresh().format("parquet").saveAsTable(t), "UNSUPPORTED_FEATURE.WRITE_FORMAT"),
        (lambda: fresh().saveAsTable(t, format="delta"), "UNSUPPORTED_FEATURE.WRITE_FORMAT"),
        (lambda: fresh().partitionBy("v").saveAsTable(t), "UNSUPPORTED_FEATURE.PARTITION_BY"),
        (
            lambda: fresh().saveAsTable(t, partitionBy=["p", "v"]),
            "UNSUPPORTED_FEATURE.PARTITION_BY",
        ),
        (lambda: fresh().bucketBy(2, "v").saveAsTable(t), "UNSUPPORTED_FEATURE.BUCKET_BY"),
        (
            lambda: ids.write.mode("append").bucketBy(4, "id").saveAsTable(b),
            "UNSUPPORTED_FEATURE.BUCKET_BY",
        ),
        (
            lambda: ids.write.mode("append").bucketBy(2, "id").sortBy("id").saveAsTable(b),
            "UNSUPPORTED_FEATURE.SORT_BY",
        ),
        (lambda: fresh().saveAsTable(t, path="/tmp/x"), "UNSUPPORTED_FEATURE.WRITE_OPTION"),
        (
            lambda: fresh("append").option("mergeSchema", "maybe").saveAsTable(t),
            "UNSUPPORTED_FEATURE.WRITE_OPTION",
        ),
        (lambda: fresh().saveAsTable(f"{t}_view"), "EXPECT_TABLE_NOT_VIEW"),
        (
            lambda: ids.withColumn("v", F.lit(1)).write.mode("overwrite").saveAsTable(t),
            "INCOMPATIBLE_DATA_FOR_TABLE.EXTRA_COLUMNS",
        ),
    ]
    for write, expected in cases:
        assert refused(write) == expected
    assert (on.state(t), on.state(b)) == before
    ids.write.mode("append").bucketBy(2, "ID").option("transactional", True).saveAsTable(b)
    assert on.rows(b) == [(9,)]
    on.sql(f"DROP VIEW {t}_view")


def test_merge_schema_adds_the_columns_that_rows_have_besides(on: Lab) -> None:
    t = on.create("id int", partitioned="p int")
    on.insert(t, "(1, 1)")
    news = frame(on, "n string, p int, id int", ("x", 1, 2))
    news.write.mode("append").option("mergeSchema", True).saveAsTable(t)
    news.select("id", "n", "p").write.option("MERGESCHEMA", "true").insertInto(t)
    assert on.rows(t) == [(1, None, 1), (2, "x", 1), (2, "x", 1)]
    more = frame(on, "id int, n string, z int, p int", (3, "y", 4, 2))
    more.write.mode("overwrite").option("mergeSchema", True).insertInto(t)
    assert on.rows(t)[-1] == (3, "y", 4, 2)
    extra = more.withColumn("e", F.lit(5))
    assert (
        refused(lambda: extra.write.mode("append").option("mergeSchema", False).saveAsTable(t))
        == "INSERT_COLUMN_ARITY_MISMATCH.TOO_MANY_DATA_COLUMNS"
    )
    new = frame(on, "id int", (1,)).write.option("mergeSchema", True).option("transactional", True)
    new.saveAsTable("enabled_merging")
    assert on.rows("enabled_merging") == [(1,)]
    properties = on.sql("SHOW TBLPROPERTIES enabled_merging")
    assert not [key for key, _ in properties if key.lower() == "mergeschema"]
    on.sql("DROP TABLE enabled_merging")


@pytest.mark.slow
def test_save_as_table_makes_transactional_tables(on: Lab, tmp_path: Path) -> None:
    rows = frame(on, "id int, p int, v string", (1, 1, "a"), (2, 2, "b"))
    plain, full, only = "enabled_new", "enabled_full", "enabled_only"
    rows.write.option("transactional", True).saveAsTable(plain)
    writer = rows.write.format("orc").partitionBy("p").bucketBy(2, "id")
    writer.options(transactional="TRUE", compression="zstd", path=f"{tmp_path}/full").saveAsTable(
        full
    )
    writer = rows.write.format("parquet").option("transactional", "true")
    writer.option("transactional_properties", "insert_only").mode("overwrite").saveAsTable(only)
    assert on.rows(plain) == [(1, 1, "a"), (2, 2, "b")]
    assert on.sql(f"DELETE FROM {plain} WHERE id = 1") == [(1, 1)]
    assert on.rows(full) == [(1, "a", 1), (2, "b", 2)]
    table = on.session.metastore.table("default", full)
    assert (table.bucket_columns, table.num_buckets) == (("id",), 2)
    assert table.properties["orc.compress"] == "zstd"
    assert on.root(full) == tmp_path / "full"
    assert {file.codec for file in on.files(full).values()} == {"ZSTD"}
    assert on.rows(only) == [(1, 1, "a"), (2, 2, "b")]
    for name in (plain, full, only):
        on.sql(f"DROP TABLE {name}")


@pytest.mark.repeated
def test_save_as_table_writes_spark_s_tables_as_before(on: Lab) -> None:
    rows = frame(on, "id int", (1,))
    rows.write.saveAsTable("enabled_spark")
    rows.write.mode("append").option("transactional", True).saveAsTable("enabled_spark")
    assert on.spark.table("enabled_spark").count() == 2
    rows.write.insertInto("enabled_spark")
    rows.write.mode("overwrite").format("json").saveAsTable("enabled_spark")
    assert on.spark.table("enabled_spark").collect() == [(1,)]
    assert not on.session.metastore.find_table("default", "enabled_spark")
    on.spark.sql("DROP TABLE enabled_spark")


def test_a_temporary_view_of_the_same_name(on: Lab) -> None:
    """Check Spark's rule: insertInto means the view, saveAsTable the table."""
    t = on.create("id int")
    rows = frame(on, "id int", (1,))
    rows.createOrReplaceTempView(t)
    with pytest.raises(Exception, match="InsertIntoStatement"):  # an internal error of Spark's
        rows.write.insertInto(t)
    rows.write.mode("append").saveAsTable(t)
    on.spark.catalog.dropTempView(t)
    assert on.rows(t) == [(1,)]


@pytest.mark.repeated
def test_insert_only_tables(on: Lab) -> None:
    t = on.create("id int", properties=ONLY, values="(1)")
    rows = frame(on, "id int", (2,))
    rows.write.insertInto(t)
    rows.write.mode("overwrite").saveAsTable(t)
    rows.writeTo(t).append()
    assert on.rows(t) == [(2,), (2,)]
    assert refused(lambda: rows.writeTo(t).overwrite(F.col("id") == 2)) == (
        "UNSUPPORTED_FEATURE.INSERT_ONLY_TABLE"
    )
    rows.writeTo(t).overwrite(F.lit(True))
    assert on.rows(t) == [(2,)]


# --- files


@pytest.mark.slow
def test_directories_of_acid_tables_are_not_written_as_files(on: Lab, tmp_path: Path) -> None:
    t = on.create("id int", values="(1)")
    place = str(on.root(t))
    before = on.state(t)
    rows = frame(on, "id int", (9,))
    writers: list[Callable[[DataFrameWriter], Any]] = [
        lambda w: w.save(place),
        lambda w: w.format("orc").save(f"file:{place}/delta_0000001_0000001_0000"),
        lambda w: w.option("path", place).save(),
        lambda w: w.save(format="csv", path=place),
        lambda w: w.orc(place),
        lambda w: w.parquet(place),
        lambda w: w.json(place),
        lambda w: w.csv(place, header=True),
        lambda w: w.option("path", place).saveAsTable("enabled_elsewhere"),
    ]
    for write in writers:
        assert refused(partial(write, rows.write.mode("overwrite"))) == "LOCATION_IN_USE"
    text = rows.selectExpr("CAST(id AS string)").write.mode("overwrite")
    assert refused(lambda: text.text(place)) == "LOCATION_IN_USE"
    assert on.state(t) == before
    rows.write.orc(f"{tmp_path}/o")
    rows.write.csv(f"{tmp_path}/c", header=True)
    two = rows.withColumn("v", F.lit(1))
    two.write.partitionBy("id").save(f"{tmp_path}/s", format="json", mode="append", dateFormat="y")
    assert on.spark.read.orc(f"{tmp_path}/o").count() == 1
    assert on.spark.read.option("header", True).csv(f"{tmp_path}/c").columns == ["id"]
    assert (tmp_path / "s" / "id=9").is_dir()


@pytest.mark.slow
def test_the_format_acidsql_makes_and_fills_acid_tables(on: Lab) -> None:
    rows = frame(on, "id int, p int", (1, 1), (2, 2))
    rows.write.format("acidsql").partitionBy("p").saveAsTable("made_by_format")
    rows.write.format("AcidSql").mode("append").saveAsTable("made_by_format")
    rows.write.saveAsTable("made_by_format", format="acidsql", mode="append")
    rows.where("id = 1").write.format("acidsql").insertInto("made_by_format")
    assert sorted(on.rows("made_by_format")) == [(1, 1)] * 4 + [(2, 2)] * 3
    on.sql("UPDATE made_by_format SET id = 3 WHERE id = 2")
    assert [path for path in on.tree("made_by_format") if "p=1/" in path]
    assert refused(lambda: rows.write.format("acidsql").saveAsTable("made_by_format")) == (
        "TABLE_OR_VIEW_ALREADY_EXISTS"
    )
    rows.write.format("acidsql").mode("overwrite").saveAsTable("made_by_format")
    assert sorted(on.rows("made_by_format")) == [(1, 1), (2, 2)]
    rows.writeTo("made_by_using").using("acidsql").partitionedBy("p").create()
    on.spark.sql("CREATE TABLE made_by_text (id INT, p INT) USING acidsql")
    on.spark.sql("INSERT INTO made_by_text SELECT * FROM made_by_using")
    on.spark.sql("DELETE FROM made_by_text WHERE id = 1")
    assert (on.rows("made_by_text"), len(on.rows("made_by_using"))) == ([(2, 2)], 2)
    on.spark.sql("CREATE TABLE of_spark (id INT, p INT) USING parquet")
    attempts: dict[Callable[[], Any], str] = {
        lambda: rows.write.format("acidsql").mode("overwrite").saveAsTable("of_spark"): (
            "NOT_A_TRANSACTIONAL_TABLE"
        ),
        lambda: rows.writeTo("of_spark").using("acidsql").createOrReplace(): (
            "NOT_A_TRANSACTIONAL_TABLE"
        ),
        lambda: rows.writeTo("of_spark").using("acidsql").replace(): "NOT_A_TRANSACTIONAL_TABLE",
        lambda: rows.write.format("acidsql").option("transactional", "false").saveAsTable("n"): (
            "INVALID_TABLE_PROPERTY"
        ),
        lambda: on.spark.catalog.createTable("n", source="acidsql", schema=rows.schema): (
            "UNSUPPORTED_FEATURE.CREATE_TABLE"
        ),
        lambda: on.spark.sql("CREATE TABLE n (id INT) USING acidsql OPTIONS (path 't')"): (
            "UNSUPPORTED_FEATURE.OPTIONS"
        ),
    }
    for attempt, expected in attempts.items():
        assert refused(attempt) == expected
    assert (on.spark.table("of_spark").count(), on.spark.catalog.tableExists("n")) == (0, False)
    for name in ("made_by_format", "made_by_using", "made_by_text", "of_spark"):
        on.sql(f"DROP TABLE {name}")


@pytest.mark.slow
def test_new_tables_are_acid_where_that_is_the_default(on: Lab) -> None:
    rows = frame(on, "id int", (1,))
    with on.settings(spark__acidsql__defaultTable="ACID"):
        on.sql("CREATE TABLE by_default (id INT)")
        on.spark.sql("CREATE TABLE by_default_as AS SELECT 1 AS id")
        rows.write.saveAsTable("by_default_save")
        rows.writeTo("by_default_to").create()
        on.sql("CREATE TRANSACTIONAL TABLE declared (id INT)")
        on.sql("CREATE TABLE plain_using (id INT) USING parquet")
        on.sql("CREATE TABLE plain_property (id INT) TBLPROPERTIES ('transactional'='false')")
        rows.write.format("parquet").saveAsTable("plain_save")
        rows.writeTo("plain_to").using("parquet").create()
    on.sql("CREATE TABLE plain_now (id INT)")
    acid = {"by_default", "by_default_as", "by_default_save", "by_default_to", "declared"}
    plain = {"plain_using", "plain_property", "plain_save", "plain_to", "plain_now"}
    known = set(on.session.metastore.tables("default"))
    assert (acid & known, plain & known) == (acid, set())
    assert {name for name in plain if on.spark.catalog.tableExists(name)} == plain
    on.sql("INSERT INTO by_default VALUES (1)")
    on.sql("UPDATE by_default_as SET id = 2")
    assert (on.rows("by_default"), on.rows("by_default_as")) == ([(1,)], [(2,)])
    with on.settings(spark__acidsql__defaultTable="delta"):
        assert refused(lambda: on.sql("CREATE TABLE n (id INT)")) == "INVALID_CONF_VALUE"
        assert refused(lambda: rows.write.saveAsTable("n")) == "INVALID_CONF_VALUE"
    for name in acid | plain:
        on.sql(f"DROP TABLE {name}")


def test_tables_of_spark_are_not_written_in_a_transaction(on: Lab) -> None:
    on.sql("CREATE TABLE plain USING parquet AS SELECT 1 AS id")
    rows = frame(on, "id INT", (2,))
    writes: list[Callable[[], Any]] = [
        lambda: rows.write.insertInto("plain"),
        lambda: rows.write.mode("append").saveAsTable("plain"),
        lambda: rows.write.saveAsTable("plain2"),
        lambda: rows.writeTo("plain").append(),
        lambda: rows.writeTo("plain2").using("parquet").create(),
        lambda: on.spark.catalog.createTable("plain2", schema=rows.schema),
        lambda: on.spark.sql("EXECUTE IMMEDIATE 'INSERT INTO plain VALUES (2)'"),
    ]
    if hasattr(rows, "mergeInto"):
        writes.append(lambda: rows.mergeInto("plain", F.lit(True)))
    if hasattr(on.spark.catalog, "dropTable"):
        writes += [
            lambda: on.spark.catalog.dropTable("plain"),
            lambda: on.spark.catalog.truncateTable("plain"),
        ]
    try:
        on.sql("START TRANSACTION")
        for write in writes:
            assert refused(write) == "NOT_ALLOWED_IN_TRANSACTION"
        on.sql("ROLLBACK")
        assert on.rows("plain") == [(1,)]
        assert not on.spark.catalog.tableExists("plain2")
    finally:
        on.sql("DROP TABLE plain")
