"""Tests of the case of names of columns: Spark sees what was written, files have lower case."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyarrow import orc

import acidsql
from acidsql.streaming import connect
from tests.product.enabled import frame, refused

if TYPE_CHECKING:
    from pathlib import Path

    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

COLUMNS = "Name STRING, `Culmen Length (mm)` DOUBLE, Box STRUCT<Width: INT>"
NAMES = ["Name", "Culmen Length (mm)", "Box", "Day"]
ROW = "('a', 1.5, named_struct('Width', 1), 'x')"


def penguins(lab: Lab) -> str:
    return lab.create(COLUMNS, partitioned="Day STRING", values=ROW)


def names(lab: Lab, table: str) -> list[str]:
    return list(lab.frame(f"SELECT * FROM {table}").columns)


def test_spark_sees_the_names_that_were_written(lab: Lab) -> None:
    t = penguins(lab)
    assert names(lab, t) == NAMES
    assert acidsql.table(lab.spark, t).columns == NAMES
    assert lab.rows(t) == [("a", 1.5, (1,), "x")]
    assert lab.frame(f"SELECT box.width, NAME FROM {t} WHERE day = 'x'").collect() == [(1, "a")]
    assert [row[0] for row in lab.sql(f"DESCRIBE {t}")] == [
        *NAMES,
        "# Partition Information",
        "# col_name",
        "Day",
    ]
    assert lab.sql(f"SHOW COLUMNS IN {t}") == [(name,) for name in NAMES]
    ((text,),) = lab.sql(f"SHOW CREATE TABLE {t}")
    assert text.split("\nSTORED")[0] == (
        f"CREATE TABLE `default`.`{t}` (\n  `Name` STRING,\n  `Culmen Length (mm)` DOUBLE,\n"
        "  `Box` STRUCT<Width: INT>)\nPARTITIONED BY (`Day` STRING)"
    )


def test_files_and_directories_have_lower_case(lab: Lab) -> None:
    t = penguins(lab)
    lab.sql(f"UPDATE {t} SET NAME = 'b'")
    assert lab.sql(f"SHOW PARTITIONS {t}") == [("day=x",)]
    assert lab.directories(t) == ["day=x"]
    fields = ("name", "culmen length (mm)", "box")
    assert {file.row_fields for file in lab.files(t).values()} == {fields}
    assert len(lab.files(t)) == 3


@pytest.mark.slow
def test_compactions_write_lower_case(lab: Lab) -> None:
    t = penguins(lab)
    for kind in ("minor", "major"):
        lab.insert(t, "('c', 2.5, NULL, 'x')")
        lab.sql(f"DELETE FROM {t} WHERE NAME = 'a'")
        lab.compact(t, kind)
    assert {file.row_fields[:2] for file in lab.files(t).values()} == {
        ("name", "culmen length (mm)")
    }
    assert lab.rows(t) == [("c", 2.5, None, "x")] * 2
    assert names(lab, t) == NAMES


@pytest.mark.slow
def test_statements_find_columns_in_any_case(lab: Lab) -> None:
    t = penguins(lab)
    assert lab.sql(f"UPDATE {t} SET `CULMEN LENGTH (MM)` = 2, name = 'b' WHERE DAY = 'x'") == [
        (1, 1)
    ]
    lab.sql(
        f"MERGE INTO {t} AS t USING (SELECT 'b' AS nAME, 'x' AS dAY, 9.0 AS long) AS s "
        "ON t.name = s.name AND t.DAY = s.day WHEN MATCHED THEN UPDATE SET "
        "`culmen length (mm)` = s.long WHEN NOT MATCHED THEN INSERT (NAME, DAY) VALUES (name, day)"
    )
    lab.sql(f"INSERT INTO {t} PARTITION (DAY = 'y') (nAme) VALUES ('c')")
    lab.sql(f"INSERT INTO {t} BY NAME SELECT 'z' AS DAY, 'd' AS NAME")
    assert lab.rows(t, "name, `culmen length (mm)`, day") == [
        ("b", 9.0, "x"),
        ("c", None, "y"),
        ("d", None, "z"),
    ]
    assert lab.sql(f"DELETE FROM {t} WHERE NAME = 'd'") == [(1, 1)]
    lab.sql(f"ALTER TABLE {t} DROP PARTITION (DAY = 'y')")
    assert lab.rows(t, "Name") == [("b",)]


@pytest.mark.slow
def test_conditions_prune_and_skip_in_any_case(lab: Lab) -> None:
    t = penguins(lab)
    lab.insert(t, "('b', 2.5, NULL, 'y')")
    found = lab.frame(f"SELECT NAME FROM {t} WHERE DAY = 'y' AND `culmen LENGTH (mm)` > 2")
    assert found.collect() == [("b",)]
    measured = acidsql.metrics(found)
    assert measured is not None
    assert measured.files_read == 1


@pytest.mark.slow
def test_alterations_keep_and_change_the_case(lab: Lab) -> None:
    t = penguins(lab)
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN name TO FullName")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (`Body Mass` INT)")
    lab.sql(f"ALTER TABLE {t} ALTER COLUMN FULLNAME COMMENT 'whole'")
    lab.sql(f"ALTER TABLE {t} CHANGE COLUMN `body mass` BodyMass BIGINT")
    assert names(lab, t) == ["FullName", "Culmen Length (mm)", "Box", "BodyMass", "Day"]
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN fullname TO FULLNAME")
    lab.sql(
        f"ALTER TABLE {t} REPLACE COLUMNS (Fullname STRING, Length DOUBLE, Box STRUCT<Width: INT>, "
        "bodymass BIGINT, Extra INT)"
    )
    assert names(lab, t) == ["Fullname", "Length", "Box", "bodymass", "Extra", "Day"]
    assert lab.rows(t) == [("a", 1.5, (1,), None, None, "x")]


def test_a_column_in_another_case_leaves_the_versions_readable(lab: Lab) -> None:
    t = lab.create("Name string", values="('a')")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN Name TO NAME")
    lab.insert(t, "('b')")
    assert lab.rows(f"{t} VERSION AS OF 1") == [("a",)]
    assert names(lab, f"{t} VERSION AS OF 1") == ["NAME"]


@pytest.mark.slow
def test_statistics_are_found_in_any_case(lab: Lab) -> None:
    t = lab.create("`Body Mass` int", values="(3), (5)")
    lab.sql(f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS `body mass`")
    found = dict(lab.sql(f"DESCRIBE EXTENDED {t} `BODY mass`"))
    assert (found["min"], found["max"], found["num_nulls"]) == ("3", "5", "0")
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN `body mass` TO `BODY MASS`")
    assert dict(lab.sql(f"DESCRIBE EXTENDED {t} `Body Mass`"))["max"] == "5"


@pytest.mark.slow
def test_copies_have_the_names_of_their_sources(lab: Lab, tmp_path: Path) -> None:
    t = penguins(lab)
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    for made, text in {
        "made_as_select": f"{acid} AS SELECT Name AS Title, Day FROM {t}",
        "made_clone": f"CLONE {t}",
    }.items():
        lab.sql(f"DROP TABLE IF EXISTS {made}")
        lab.sql(f"CREATE TABLE {made} {text}")
    assert names(lab, "made_as_select") == ["Title", "Day"]
    assert names(lab, "made_clone") == NAMES
    lab.frame(f"SELECT * FROM {t}").drop("Box").write.json(str(tmp_path / "json"))
    lab.sql("DROP TABLE IF EXISTS made_json")
    acidsql.convert(lab.spark, f"json:{tmp_path / 'json'}", "made_json", partition_by=["day"])
    assert sorted(names(lab, "made_json")) == sorted({*NAMES} - {"Box"})
    assert names(lab, "made_json")[-1] == "Day"
    acidsql.export(lab.spark, t, f"parquet:{tmp_path / 'out'}")
    assert lab.spark.read.parquet(str(tmp_path / "out")).columns == NAMES


@pytest.mark.slow
def test_data_frames_make_tables_with_their_names(on: Lab) -> None:
    made = frame(on, "Id int, `Due Day` string", (1, "x"))
    on.sql("DROP TABLE IF EXISTS framed")
    made.write.format("acidsql").partitionBy("Due Day").saveAsTable("framed")
    assert on.spark.table("framed").columns == ["Id", "Due Day"]
    listed = on.spark.catalog.listColumns("framed")
    assert [(c.name, c.isPartition) for c in listed] == [("Id", False), ("Due Day", True)]
    frame(on, "ID int, `due day` string", (2, "y")).write.mode("append").saveAsTable("framed")
    frame(on, "id int, `DUE day` string", (3, "z")).writeTo("framed").append()
    assert on.rows("framed") == [(1, "x"), (2, "y"), (3, "z")]
    assert on.spark.table("framed").where("`due day` = 'y'").first() == (2, "y")
    assert on.directories("framed") == ["due day=x", "due day=y", "due day=z"]


@pytest.mark.slow
def test_readers_and_writers_without_spark(lab: Lab) -> None:
    t = penguins(lab)
    place = lab.session.settings.metastore
    with connect(metastore=place, table=t) as connection, connection.transaction():
        connection.write_all([{"NAME": "b", "day": "x"}, {"Name": "c", "Day": "y"}])
    read = acidsql.read_arrow(t, metastore=place, filter=[("NAME", "!=", "a")])
    assert read.column_names == NAMES
    assert sorted(read["Name"].to_pylist()) == ["b", "c"]
    assert acidsql.read_arrow(t, columns=["day", "name"], metastore=place).column_names == [
        "Day",
        "Name",
    ]
    schemas = {str(orc.ORCFile(f).schema.field("row").type) for f in lab.root(t).rglob("bucket_*")}
    assert len(schemas) == 1
    assert schemas.pop().startswith("struct<name: string, culmen length (mm): double, box: struct<")
    assert pa.types.is_struct(read.schema.field("Box").type)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["PARQUET", "ORC", "TEXTFILE"])
def test_insert_only_tables(lab: Lab, form: str) -> None:
    name = f"names_of_{form}"
    lab.sql(f"DROP TABLE IF EXISTS {name}")
    lab.sql(
        f"CREATE TABLE {name} (Id INT, `Full Name` STRING) PARTITIONED BY (Day STRING) "
        f"STORED AS {form} TBLPROPERTIES ('transactional'='true', "
        "'transactional_properties'='insert_only')"
    )
    lab.insert(name, "(1, 'a', 'x')")
    with lab.settings(spark__sql__caseSensitive="true"):
        lab.insert(name, "(2, 'b', 'x')")
        assert lab.rows(name) == [(1, "a", "x"), (2, "b", "x")]
    lab.compact(name, "major", "day='x'")
    assert lab.rows(name, "ID, `full name`") == [(1, "a"), (2, "b")]
    assert names(lab, name) == ["Id", "Full Name", "Day"]


@pytest.mark.slow
def test_case_sensitive_sessions_find_the_name_that_was_written(lab: Lab) -> None:
    t = penguins(lab)
    column = "UNRESOLVED_COLUMN.WITH_SUGGESTION"
    with lab.settings(spark__sql__caseSensitive="true"):
        assert lab.rows(t, "Name, Box.Width") == [("a", 1)]
        assert lab.sql(f"UPDATE {t} SET Name = 'b' WHERE Day = 'x' AND Box.Width = 1") == [(1, 1)]
        assert lab.sql(f"INSERT INTO {t} (Name, Day) VALUES ('c', 'y')") == [(1, 1)]
        merge = f"MERGE INTO {t} USING (SELECT 'c' AS n) ON Name = n WHEN MATCHED THEN UPDATE SET "
        assert lab.sql(f"{merge} Name = 'd'") == [(1, 1, 0, 0)]
        for text in (
            f"SELECT name FROM {t}",
            f"UPDATE {t} SET name = 'x'",
            f"DELETE FROM {t} WHERE day = 'x'",
            f"INSERT INTO {t} (name, Day) VALUES ('x', 'x')",
            f"{merge} name = 'x'",
        ):
            assert refused(lambda text=text: lab.sql(text)) == column  # type: ignore[misc]
        for text, condition in {
            f"ALTER TABLE {t} RENAME COLUMN name TO x": "COLUMN_NOT_FOUND",
            f"ALTER TABLE {t} DROP PARTITION (day = 'y')": "PARTITIONS_NOT_FOUND",
            f"ANALYZE TABLE {t} COMPUTE STATISTICS FOR COLUMNS name": "COLUMN_NOT_FOUND",
            f"DESCRIBE {t} name": "COLUMN_NOT_FOUND",
        }.items():
            assert refused(lambda text=text: lab.sql(text)) == condition  # type: ignore[misc]
        lab.sql(f"ALTER TABLE {t} RENAME COLUMN Name TO name")
        assert lab.rows(t, "name") == [("b",), ("d",)]
        lab.compact(t, "major", "Day = 'x'")
        assert lab.rows(t, "name, Day") == [("b", "x"), ("d", "y")]


@pytest.mark.slow
def test_fields_of_structs_are_found_in_files_in_any_case(lab: Lab) -> None:
    t = lab.create("Id int, box struct<width: int>", values="(1, named_struct('width', 7))")
    # As if Hive, which writes lower case, had written the file.
    table = lab.session.metastore.table("default", t)
    columns = (table.columns[0], replace(table.columns[1], type="struct<Width: int>"))
    lab.session.metastore.alter_table(replace(table, columns=columns))
    with lab.settings(spark__sql__caseSensitive="true"):
        assert lab.rows(t, "Id, box.Width") == [(1, 7)]
        assert lab.sql(f"UPDATE {t} SET Id = 2 WHERE box.Width = 7") == [(1, 1)]
    assert lab.rows(t) == [(2, (7,))]


@pytest.mark.parametrize("sensitive", ["true", "false"])
def test_names_that_differ_by_case_alone_are_refused(lab: Lab, sensitive: str) -> None:
    acid = "STORED AS ORC TBLPROPERTIES ('transactional'='true')"
    t = lab.create("Name string")
    before = lab.sql("SHOW TABLES")
    with lab.settings(spark__sql__caseSensitive=sensitive):
        for text in (
            f"CREATE TABLE twice (Id INT, ID INT) {acid}",
            f"CREATE TABLE twice (Id INT) PARTITIONED BY (ID INT) {acid}",
            f"CREATE TABLE twice (`İd` INT, id INT) {acid}",
            f"CREATE TABLE twice {acid} AS SELECT 1 AS a, 2 AS A",
            f"CREATE TABLE twice (s STRUCT<a: INT, A: INT>) {acid}",
            f"ALTER TABLE {t} ADD COLUMNS (NAME INT)",
        ):
            assert refused(lambda text=text: lab.sql(text)) == "COLUMN_ALREADY_EXISTS"  # type: ignore[misc]
    assert lab.sql("SHOW TABLES") == before


def test_a_name_is_found_whose_lower_case_is_longer(lab: Lab) -> None:
    t = lab.create("`İd` int, v string", partitioned="`İl` string", values="(1, 'a', 'x')")
    assert names(lab, t) == ["İd", "v", "İl"]
    assert lab.sql(f"SELECT `İd` FROM {t} WHERE `İd` = 1 AND `İl` = 'x'") == [(1,)]
    assert lab.sql(f"UPDATE {t} SET `İd` = 7 WHERE v = 'a'") == [(1, 1)]
    lab.sql(f"INSERT INTO {t} PARTITION (`İl` = 'x') (`İd`) VALUES (8)")
    assert lab.rows(t, "`İd`") == [(7,), (8,)]
    assert lab.directories(t) == ["i̇l=x"]
    lab.sql(f"ALTER TABLE {t} RENAME COLUMN `İd` TO `Id`")
    assert lab.rows(t, "Id") == [(7,), (8,)]
