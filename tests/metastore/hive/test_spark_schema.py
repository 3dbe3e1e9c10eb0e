"""Tests of the properties where a Hive Metastore keeps the names of columns."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.types import StructType

from acidsql.metastore.hive.conversions import (
    ColumnConstraints,
    from_hive,
    plain_from_hive,
    to_hive,
)
from acidsql.metastore.hive.spark_schema import (
    as_written,
    is_schema_property,
    schema_properties,
    written_columns,
)
from acidsql.metastore.model import Column, Table

TABLE = Table(
    database="db",
    name="t",
    columns=(
        Column(name="Id", type="BIGINT", nullable=False),
        Column(name="Culmen Length (mm)", type="double", comment="beak"),
        Column(name="Tags", type="ARRAY<STRUCT<Key: STRING, `a b`: DECIMAL(5, 2)>>"),
        Column(name="kind", type="char(3)"),
    ),
    partition_columns=(Column(name="Day", type="date"),),
    bucket_columns=("Id",),
    num_buckets=4,
)


def test_properties_are_those_of_spark() -> None:
    properties = schema_properties(TABLE)
    text = properties.pop("spark.sql.sources.schema")
    assert properties == {
        "spark.sql.sources.schema.numPartCols": "1",
        "spark.sql.sources.schema.partCol.0": "Day",
        "spark.sql.sources.schema.numBuckets": "4",
        "spark.sql.sources.schema.numBucketCols": "1",
        "spark.sql.sources.schema.bucketCol.0": "Id",
    }
    schema = StructType.fromJson(json.loads(text))
    assert schema.simpleString() == (
        "struct<Id:bigint,Culmen Length (mm):double,"
        "Tags:array<struct<Key:string,a b:decimal(5,2)>>,kind:string,Day:date>"
    )
    assert [field.nullable for field in schema] == [False, True, True, True, True]
    assert [field.metadata for field in schema][1:4] == [
        {"comment": "beak"},
        {},
        {"__CHAR_VARCHAR_TYPE_STRING": "char(3)"},
    ]


def test_names_in_lower_case_need_no_property() -> None:
    lower = replace(TABLE, columns=(Column(name="id", type="int"),), partition_columns=())
    assert schema_properties(lower) == {}
    assert written_columns({}) == {}


def test_long_schemas_are_in_parts() -> None:
    columns = tuple(Column(name=f"Column {i} of Größe", type="int") for i in range(100))
    properties = schema_properties(replace(TABLE, columns=columns))
    number = int(properties["spark.sql.sources.schema.numParts"])
    parts = [properties[f"spark.sql.sources.schema.part.{i}"] for i in range(number)]
    assert [len(part) for part in parts[:-1]] == [4000] * (number - 1)
    assert all(map(str.isascii, parts))
    assert "spark.sql.sources.schema" not in properties
    assert (
        tuple(
            as_written(
                [replace(column, name=column.stored_name) for column in columns],
                written_columns(properties),
            )
        )
        == columns
    )


def test_columns_that_hive_added_renamed_or_took_away() -> None:
    names = written_columns(schema_properties(TABLE))
    by_hive = [Column(name=name, type="int") for name in ("culmen length (mm)", "title", "day")]
    found = as_written(by_hive, names)
    assert [column.name for column in found] == ["Culmen Length (mm)", "title", "Day"]


def test_texts_that_are_no_schemas_have_no_names() -> None:
    for text in ("", "{", "[]", '"x"', '{"fields": 1}', '{"fields": [1, {"name": 2}, {}]}'):
        assert written_columns({"spark.sql.sources.schema": text}) == {}
    assert written_columns({"spark.sql.sources.schema.numParts": "x"}) == {}
    assert written_columns({"spark.sql.sources.schema.numParts": "2"}) == {}


def test_hive_sees_lower_case_and_acidsql_what_was_written() -> None:
    made = to_hive(TABLE)
    assert [field.name for field in made.sd.cols] == ["id", "culmen length (mm)", "tags", "kind"]
    assert made.sd.cols[2].type == "array<struct<Key:string,a b:decimal(5,2)>>"
    assert [field.name for field in made.partitionKeys] == ["day"]
    assert made.sd.bucketCols == ["id"]
    found = from_hive(made, ColumnConstraints(defaults={}))
    assert [c.name for c in (*found.columns, *found.partition_columns)] == [
        "Id",
        "Culmen Length (mm)",
        "Tags",
        "kind",
        "Day",
    ]
    assert found.bucket_columns == ("Id",)
    assert not any(map(is_schema_property, found.properties))


def test_a_plain_table_of_spark_keeps_its_names_when_it_becomes_transactional() -> None:
    made = to_hive(TABLE)
    made.parameters |= {"spark.sql.create.version": "4.0.0", "transactional": "false"}
    plain = plain_from_hive(made, ())
    assert [c.name for c in plain.table.columns] == [c.name for c in TABLE.columns]
    assert not [key for key in plain.table.properties if key.startswith("spark.")]


def test_properties_follow_the_columns() -> None:
    made = to_hive(TABLE)
    renamed = replace(
        TABLE,
        columns=tuple(replace(column, name=column.stored_name) for column in TABLE.columns),
        partition_columns=(Column(name="day", type="date"),),
        bucket_columns=("id",),
    )
    altered = to_hive(renamed, made)
    assert not any(map(is_schema_property, altered.parameters))


NAMES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8)


@given(st.lists(NAMES, min_size=1, max_size=4, unique_by=str.lower))
def test_any_names_come_back(names: list[str]) -> None:
    columns = tuple(Column(name=name, type="int") for name in names)
    table = replace(TABLE, columns=columns, partition_columns=(), bucket_columns=(), num_buckets=0)
    by_hive = [replace(column, name=column.stored_name) for column in columns]
    assert tuple(as_written(by_hive, written_columns(schema_properties(table)))) == columns


def test_local_times_are_timestamps_to_hive_alone() -> None:
    types = (
        "TIMESTAMP_NTZ",
        "TIMESTAMP",
        "STRUCT<timestamp: TIMESTAMP NOT NULL, b: MAP<STRING, TIMESTAMP_NTZ>>",
        "ARRAY<STRUCT<timestamp_ntz: TIMESTAMP>>",
        "char(3)",
    )
    columns = tuple(Column(name=f"c{i}", type=text) for i, text in enumerate(types))
    days = (Column(name="at", type="timestamp_ntz"),)
    made = to_hive(
        replace(TABLE, columns=columns, partition_columns=days, bucket_columns=(), num_buckets=0)
    )
    assert [field.type for field in (*made.sd.cols, *made.partitionKeys)] == [
        "timestamp",
        "timestamp",
        "struct<timestamp:timestamp,b:map<string,timestamp>>",
        "array<struct<timestamp_ntz:timestamp>>",
        "char(3)",
        "timestamp",
    ]
    spark = StructType.fromJson(json.loads(made.parameters["spark.sql.sources.schema"]))
    assert [field.dataType.simpleString() for field in spark] == [
        "timestamp_ntz",
        "timestamp",
        "struct<timestamp:timestamp,b:map<string,timestamp_ntz>>",
        "array<struct<timestamp_ntz:timestamp>>",
        "string",
        "timestamp_ntz",
    ]
    found = from_hive(made, ColumnConstraints(defaults={}))
    assert [c.type for c in (*found.columns, *found.partition_columns)] == [
        "timestamp_ntz",
        "timestamp",
        "struct<timestamp:timestamp,b:map<string,timestamp_ntz>>",
        "array<struct<timestamp_ntz:timestamp>>",
        "char(3)",
        "timestamp_ntz",
    ]


def test_a_type_that_hive_has_changed_since_is_that_of_hive() -> None:
    columns = (Column(name="a", type="timestamp_ntz"), Column(name="b", type="timestamp_ntz"))
    made = to_hive(
        replace(TABLE, columns=columns, partition_columns=(), bucket_columns=(), num_buckets=0)
    )
    made.sd.cols[0].type = "string"
    found = from_hive(made, ColumnConstraints(defaults={}))
    assert [c.type for c in found.columns] == ["string", "timestamp_ntz"]
