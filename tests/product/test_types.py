"""Tests of every type that a table may have: values are read back by Spark and from the file."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyspark.errors import PySparkException

from acidsql.errors import AcidAnalysisError
from tests.arrow_reader.beside_spark import assert_read_as_by_spark

if TYPE_CHECKING:
    from tests.product.conftest import Lab

pytestmark = pytest.mark.spark

# Each type with values at its edges; NULL is added to all.
VALUES = {
    "boolean": ["true", "false"],
    "tinyint": ["-128Y", "127Y"],
    "smallint": ["-32768S", "32767S"],
    "int": ["-2147483648", "2147483647"],
    "bigint": ["-9223372036854775808", "9223372036854775807L"],
    "float": ["float('NaN')", "float('-Infinity')", "float(1.17549435E-38)", "float('-0.0')"],
    "double": ["double('NaN')", "double('Infinity')", "4.9E-324D", "1.7976931348623157E308D"],
    "decimal(5,0)": ["99999BD", "-1BD"],
    "decimal(38,18)": [
        "99999999999999999999.999999999999999999BD",
        "-99999999999999999999.999999999999999999BD",
        "0.000000000000000001BD",
    ],
    "string": ["''", "' '", "'\\u00e4\\u732b\\U0001F40B'", "'NULL'", "'a\\nb\\t\\0c'"],
    "char(5)": ["'ab'", "''", "'abcde'"],
    "varchar(5)": ["'ab '", "''", "'abcde'"],
    "binary": ["X''", "X'00FF80'"],
    "date": ["DATE'0001-01-01'", "DATE'1582-10-15'", "DATE'1969-12-31'", "DATE'9999-12-31'"],
    "timestamp": [
        "TIMESTAMP'0001-01-01 00:00:00'",
        "TIMESTAMP'1969-12-31 23:59:58.123456'",
        "TIMESTAMP'1931-07-01 01:02:03.000001'",
        "TIMESTAMP'1970-01-01 00:00:00.5'",
        "TIMESTAMP'9999-12-31 23:59:59.999999'",
    ],
    "timestamp_ntz": [
        "TIMESTAMP_NTZ'0001-01-01 00:00:00'",
        "TIMESTAMP_NTZ'2024-03-10 02:30:00.123456'",
        "TIMESTAMP_NTZ'1883-11-18 12:03:57'",
        "TIMESTAMP_NTZ'9999-12-31 23:59:59.999999'",
    ],
    "array<map<string,timestamp_ntz>>": ["array(map('a', TIMESTAMP_NTZ'2024-03-10 02:30:00'))"],
    "array<string>": ["array()", "array('a', NULL, '')", "array(NULL)"],
    "array<array<int>>": ["array(array(1), NULL, array())"],
    "map<string,decimal(10,2)>": ["map()", "map('k', 1.5BD, '', NULL)"],
    "map<int,array<date>>": ["map(1, array(DATE'2024-02-29', NULL))"],
    "struct<a:int,b:struct<c:string,d:timestamp>>": [
        "named_struct('a', 1, 'b', named_struct('c', '', 'd', TIMESTAMP'2024-02-29 01:02:03'))",
        "named_struct('a', NULL, 'b', NULL)",
        "named_struct('a', NULL, 'b', named_struct('c', NULL, 'd', NULL))",
    ],
    "array<struct<a:char(3),b:varchar(3)>>": ["array(named_struct('a', 'x  ', 'b', 'y'), NULL)"],
}


def columns() -> list[tuple[str, str]]:
    return [(f"c{i}", kind) for i, kind in enumerate(VALUES)]


def texts(lab: Lab, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query, with floats and timestamps as text, so that NaN and zones
    compare.
    """
    floating = ("timestamp", "float", "double")
    shown = ", ".join(
        f"CAST({name} AS STRING)" if any(word in kind for word in floating) else name
        for name, kind in columns()
    )
    return sorted(lab.sql(f"SELECT id, {shown} FROM {query}"), key=repr)


@pytest.mark.slow
def test_values_of_every_type_survive_every_rewrite(lab: Lab) -> None:
    count = max(map(len, VALUES.values()))
    rows = [
        ", ".join(
            f"CAST({values[i] if i < len(values) else 'NULL'} AS {kind})"
            for kind, values in VALUES.items()
        )
        for i in range(count + 1)
    ]
    selects = " UNION ALL ".join(f"SELECT {i} AS id, {row}" for i, row in enumerate(rows))
    names = ", ".join(name for name, _ in columns())
    lab.spark.sql(selects).toDF("id", *names.split(", ")).createOrReplaceTempView("all_values")
    # A table pads char.
    padded = {"c10": "rpad(c10, 5, ' ')"}
    given = ", ".join(f"{padded[n]} AS {n}" if n in padded else n for n, _ in columns())
    expected = texts(lab, f"(SELECT id, {given} FROM all_values)")

    t = lab.create("id int, " + ", ".join(f"{name} {kind}" for name, kind in columns()))
    assert lab.sql(f"INSERT INTO {t} SELECT * FROM all_values") == [(count + 1, count + 1)]
    assert texts(lab, t) == expected
    assert_read_as_by_spark(lab.spark, t)
    lab.compact(t, "major")
    lab.sql(f"UPDATE {t} SET id = id + 0 WHERE id % 2 = 0")
    assert texts(lab, t) == expected
    lab.compact(t, "minor")
    assert texts(lab, t) == expected
    assert lab.sql(
        f"""MERGE INTO {t} USING all_values s ON {t}.id = s.id
        WHEN MATCHED AND s.id < 2 THEN UPDATE SET * WHEN MATCHED THEN UPDATE SET c0 = {t}.c0"""
    )[0][1] == (count + 1)
    lab.compact(t, "major")
    assert texts(lab, t) == expected
    assert_read_as_by_spark(lab.spark, t)
    lab.spark.catalog.dropTempView("all_values")


@pytest.mark.repeated
def test_filters_on_each_type_find_their_rows(lab: Lab) -> None:
    t = lab.create(
        "id int, d decimal(38,18), day date, b binary, v varchar(5), c char(5), f double"
    )
    lab.insert(
        t,
        "(1, 1.5, DATE'9999-12-31', X'00', 'a ', 'a', 0.5), (2, -1.5, NULL, X'', '', '', 1D),"
        "(3, NULL, DATE'0001-01-01', NULL, NULL, NULL, double('NaN'))",
    )
    for condition, ids in {
        "d = 1.5": [1],
        "day > DATE'2000-01-01'": [1],
        "b = X''": [2],
        "v = 'a '": [1],
        "v = ''": [2],
        "c = 'a'": [1],
        "f > 0.7": [2, 3],
        "v IS NULL AND b IS NULL": [3],
    }.items():
        assert lab.sql(f"SELECT id FROM {t} WHERE {condition} ORDER BY id") == [
            (i,) for i in ids
        ], condition


@pytest.mark.parametrize(
    "kind",
    [
        "interval day to second",
        "array<interval day to second>",
        "interval year to month",
    ],
)
def test_types_that_hive_cannot_read_are_refused(lab: Lab, kind: str) -> None:
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE"):
        lab.create(f"id int, v {kind}")
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE"):
        lab.sql(
            "CREATE TABLE refused STORED AS ORC TBLPROPERTIES ('transactional'='true') "
            f"AS SELECT 1 AS id, CAST(NULL AS {kind}) AS v"
        )
    assert lab.session.metastore.find_table("default", "refused") is None


def test_a_collation_is_refused_with_what_to_use(lab: Lab) -> None:
    if lab.spark.version < "4":
        pytest.skip("Spark has collations from 4.0 on")
    with pytest.raises(AcidAnalysisError, match="use STRING, and COLLATE in expressions"):
        lab.create("v STRING COLLATE UNICODE_CI")


def test_fields_of_rows_are_nullable_in_the_table_that_they_make(lab: Lab) -> None:
    lab.sql(
        "CREATE TABLE made STORED AS ORC TBLPROPERTIES ('transactional'='true') AS "
        "SELECT 1 AS id, named_struct('a', 1) AS s, array(named_struct('b', 2)) AS l"
    )
    lab.sql(
        "INSERT INTO made VALUES (2, named_struct('a', CAST(NULL AS INT)), "
        "array(named_struct('b', CAST(NULL AS INT))))"
    )
    assert lab.sql("SELECT s.a, l[0].b FROM made ORDER BY id") == [(1, 2), (None, None)]
    assert lab.frame("SELECT * FROM made").dtypes[1:] == [
        ("s", "struct<a:int>"),
        ("l", "array<struct<b:int>>"),
    ]
    lab.sql("DROP TABLE made")


@pytest.mark.slow
def test_maps_with_dates_as_keys(lab: Lab) -> None:
    t = lab.create("id int", values="(1), (2), (3)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (m map<date,int>)")
    lab.insert(t, "(4, map(DATE'2024-01-01', 1, DATE'2024-01-02', 2))")
    lab.sql(f"UPDATE {t} SET m = map(DATE'2023-01-01', id, DATE'2023-01-02', 0) WHERE id = 1")
    lab.sql(f"DELETE FROM {t} WHERE id = 2")
    expected = [
        (1, {date(2023, 1, 1): 1, date(2023, 1, 2): 0}),
        (3, None),
        (4, {date(2024, 1, 1): 1, date(2024, 1, 2): 2}),
    ]
    assert lab.rows(t) == expected
    lab.compact(t, "major")
    assert lab.rows(t) == expected


@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", ["map<date,int>", "array<struct<a:map<struct<d:date>,int>>>"])
def test_maps_with_dates_as_keys_are_not_written_to_insert_only_tables(lab: Lab, kind: str) -> None:
    properties = {"transactional_properties": "insert_only"}
    t = lab.create("id int", properties=properties, values="(1)")
    lab.sql(f"ALTER TABLE {t} ADD COLUMNS (m {kind})")
    for statement in (f"INSERT INTO {t} VALUES (4, NULL)", f"INSERT OVERWRITE {t} SELECT 4, NULL"):
        with pytest.raises(AcidAnalysisError, match=r"UNSUPPORTED_DATATYPE.*'m'"):
            lab.sql(statement)
        assert lab.directories(t) == ["delta_0000001_0000001_0000"]
    entry = lab.compact(t, "major")
    assert entry.state == "refused"
    assert lab.rows(t) == [(1, None)]


def test_sparks_orc_writer_loses_entries_of_maps_with_dates_as_keys(
    lab: Lab, tmp_path: Path
) -> None:
    """Check why such maps are refused: if this fails, Spark can write them now."""
    path = str(tmp_path / "dates")
    pair = "map(DATE'2024-02-29', 1, DATE'2024-03-01', 2) AS m"
    lab.spark.sql(f"SELECT {pair}").write.orc(path)
    assert lab.spark.read.orc(path).selectExpr("size(m)").head()[0] == 1


@pytest.mark.slow
def test_values_that_do_not_fit_are_refused_before_anything_is_written(lab: Lab) -> None:
    t = lab.create("i tinyint, v varchar(2), d decimal(3,1)", values="(1Y, 'a', 1.5)")
    before = lab.state(t)
    for text in (
        f"INSERT INTO {t} VALUES (1000, 'a', 1.5)",
        f"INSERT INTO {t} VALUES (1Y, 'abc', 1.5)",
        f"INSERT INTO {t} VALUES (1Y, 'a', 1000)",
        f"UPDATE {t} SET v = 'abc'",
        f"UPDATE {t} SET i = 128",
        f"INSERT INTO {t} SELECT DATE'2024-01-01', 'a', 1.5",
    ):
        with pytest.raises(PySparkException):
            lab.sql(text)
        assert lab.state(t) == before


def test_columns_of_any_type_may_be_left_out_of_an_insert(lab: Lab) -> None:
    t = lab.create("id int, c char(3), v varchar(4), s struct<a:char(2)>, p varchar(3)")
    lab.sql(f"INSERT INTO {t} (p, id) VALUES ('x', 1)")
    lab.sql(f"INSERT INTO {t} (id, v) SELECT 2, 'abcd'")
    assert lab.rows(t) == [(1, None, None, None, "x"), (2, None, "abcd", None, None)]


@pytest.mark.sample(2)
@pytest.mark.parametrize("kind", ["default", "insert_only"])
@pytest.mark.parametrize("values", ["ARRAY<INT>", "INT"])
def test_maps_of_nested_values(lab: Lab, values: str, kind: str) -> None:
    properties = {"transactional_properties": kind}
    table = lab.create(f"id INT, m MAP<STRING, {values}>", properties=properties)
    value = "array(1)" if values != "INT" else "1"
    lab.insert(table, f"(1, map('a', {value}, 'b', NULL))")
    ((found,),) = lab.sql(f"SELECT m FROM {table}")
    assert found == {"a": [1] if values != "INT" else 1, "b": None}
