from __future__ import annotations

import pytest

from acidsql.errors import AcidAnalysisError
from acidsql.metastore.hive.column_types import hive_type, spark_type


@pytest.mark.parametrize(
    ("spark", "hive"),
    [
        ("INT", "int"),
        ("bigint", "bigint"),
        ("LONG", "bigint"),
        ("TIMESTAMP_LTZ", "timestamp with local time zone"),
        ("ARRAY<TIMESTAMP_LTZ>", "array<timestamp with local time zone>"),
        ("timestamp with local time zone", "timestamp with local time zone"),
        ("DECIMAL(10, 2)", "decimal(10,2)"),
        ("numeric", "decimal"),
        ("VARCHAR(7)", "varchar(7)"),
        ("ARRAY<INTEGER>", "array<int>"),
        ("MAP<STRING, ARRAY<DECIMAL(3, 1)>>", "map<string,array<decimal(3,1)>>"),
        ("STRUCT<a: INT, B: STRING>", "struct<a:int,B:string>"),
        ("STRUCT<a INT, b STRUCT<c: DATE>>", "struct<a:int,b:struct<c:date>>"),
        ("struct<Street:string,no:int>", "struct<Street:string,no:int>"),
        (
            "STRUCT<a: INT NOT NULL COMMENT 'it''s, <b>: c', `x y`: CHAR(2)>",
            "struct<a:int,x y:char(2)>",
        ),
        (
            "STRUCT<a: ARRAY<INT> COMMENT 'x', b: DECIMAL(5, 2) NOT NULL>",
            "struct<a:array<int>,b:decimal(5,2)>",
        ),
        ("MAP<STRING, STRUCT<`größe`: INT>>", "map<string,struct<größe:int>>"),
        ("STRUCT<>", "struct<>"),
    ],
)
def test_types_of_spark_in_hive(spark: str, hive: str) -> None:
    assert hive_type(spark) == hive
    assert hive_type(spark_type(hive)) == hive


@pytest.mark.parametrize(
    ("hive", "spark"),
    [
        ("int", "int"),
        ("decimal(5,2)", "decimal(5,2)"),
        ("struct<a:int,x y:string>", "struct<a:int,`x y`:string>"),
        (
            "map<int,struct<1st:map<string,decimal(5,2)>>>",
            "map<int,struct<`1st`:map<string,decimal(5,2)>>>",
        ),
        ("uniontype<int,string>", "uniontype<int,string>"),
    ],
)
def test_types_of_hive_in_spark(hive: str, spark: str) -> None:
    assert spark_type(hive) == spark


@pytest.mark.parametrize("name", ["a:b", "a,b", "a<b"])
def test_fields_that_hive_cannot_name_are_refused(name: str) -> None:
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_COLUMN_NAME"):
        hive_type(f"STRUCT<`{name}`: INT>")


def test_what_is_no_type_is_refused() -> None:
    with pytest.raises(AcidAnalysisError, match="UNSUPPORTED_DATATYPE"):
        hive_type("INT, STRING")
