"""Tests of the description of plans."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from acidsql import bridge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

OPTION = "which"
SCHEMA = StructType(
    [
        StructField("id", LongType()),
        StructField("Größe😀", StringType()),
        StructField("p", IntegerType()),
    ]
)
PARTITIONS = StructType([SCHEMA["p"]])


def relation(spark: SparkSession, name: str) -> bridge.UnresolvedPlan:
    """Build a relation over no files with the option that outlines show."""
    java, _ = bridge.file_relation(spark, [], SCHEMA, {OPTION: name}, PARTITIONS)
    return bridge.rows_of(spark, java)


def outlined(spark: SparkSession, text: str) -> bridge.PlanOutline:
    """Describe the optimised plan of a query over the relations a and b."""
    for name in ("a", "b"):
        relation(spark, name).frame().createOrReplaceTempView(name)
    try:
        plan = bridge.CurrentValues(spark).optimize(bridge.parse(spark, text))
    finally:
        for name in ("a", "b"):
            spark.catalog.dropTempView(name)
    assert plan is not None
    return bridge.outline(spark, plan, OPTION)


def test_conjuncts_name_the_columns_of_the_table(spark: SparkSession) -> None:
    found = outlined(spark, "SELECT ID FROM a WHERE `größe😀` > 'x' AND P = 3 AND rand() < 0.5")
    (node,) = [node for node in found.walk() if node.kind == "Filter" and node.conjuncts]
    columns = [part.columns for part in node.conjuncts if part.columns]
    assert {"Größe😀": "STRING"} in columns
    assert {"p": "INT"} in columns
    assert node.child.relation is not None
    assert node.child.relation.option == "a"
    assert node.child.relation.partitions == ("p",)
    assert all(part.is_deterministic for part in node.conjuncts if part.columns)


def test_subqueries_are_described(spark: SparkSession) -> None:
    found = outlined(spark, "SELECT count(*) FROM a WHERE id > (SELECT max(id) FROM b)")
    assert [n.relation.option for n in found.root.walk() if n.relation] == ["a"]
    assert [n.relation.option for tree in found.subqueries for n in tree.walk() if n.relation] == [
        "b"
    ]
    (largest,) = [n for tree in found.subqueries for n in tree.walk() if n.kind == "Aggregate"]
    assert largest.functions == (bridge.AggregateFunction(name="Max", is_distinct=False),)
    assert list(largest.references.values()) == ["id"]
    assert not largest.has_fractions


@pytest.mark.slow
def test_long_descriptions_arrive_whole(spark: SparkSession) -> None:
    number = 300
    query = " UNION ALL ".join(
        f"SELECT `größe😀`, {i} FROM a WHERE id = {i}" for i in range(number)
    )
    found = outlined(spark, query)
    filters = [node for node in found.walk() if node.conjuncts]
    assert len(filters) == number
    ids = {node.child.relation.first_column_id for node in filters if node.child.relation}
    assert len(ids) == number


def test_a_new_application_of_the_same_jvm_has_the_same_classes(spark: SparkSession) -> None:
    first = outlined(spark, "SELECT id FROM a")
    bridge.JvmCache.clear(spark)
    bridge.JvmCache.clear(spark.sparkContext)
    again = outlined(spark, "SELECT id FROM a")
    assert [n.kind for n in again.walk()] == [n.kind for n in first.walk()]
