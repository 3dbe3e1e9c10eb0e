"""Ordinals of the partitions of staged delete events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from acidsql.storage.delete_places import DeletePlaces

_TEXTS = st.text(st.characters(min_codepoint=1, exclude_categories=["Cs"]), min_size=1)


@given(st.lists(st.tuples(_TEXTS, _TEXTS)))
def test_partitions_are_sorted_by_their_bytes_and_unique(given: list[tuple[str, str]]) -> None:
    partitions = DeletePlaces.of(given).partitions
    assert set(partitions) == set(given)
    joined = ["\0".join(values).encode() for values in partitions]
    assert all(a < b for a, b in pairwise(joined))


@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("codegen", ["FALLBACK", "NO_CODEGEN"])
def test_spark_finds_the_ordinal_of_each_partition(spark: SparkSession, codegen: str) -> None:
    texts = [
        "a",
        "ab",
        "A",
        "a b",
        "a/b",
        "a\n",
        "\x01",
        "é",
        "ÿ",
        "\U0001f600",
        "\uffee",
        "~",
        "10",
        "9",
    ]
    places = DeletePlaces.of([(one, other) for one in texts for other in texts[:4]])
    rows = [(*values, i) for i, values in enumerate(places.partitions)]
    rows += [("a", "unknown", -1), ("a\x00a", "b", -1)]
    frame = spark.createDataFrame(rows, "one string, other string, ordinal int")
    kept = spark.conf.get("spark.sql.codegen.factoryMode", "FALLBACK")
    spark.conf.set("spark.sql.codegen.factoryMode", codegen)
    try:
        found = frame.select("ordinal", places.ordinal(spark, ["one", "other"])).collect()
    finally:
        spark.conf.set("spark.sql.codegen.factoryMode", kept)
    assert [max(-1, ordinal) for _, ordinal in found] == [wanted for wanted, _ in found]


@pytest.mark.spark
def test_without_partitions_there_is_no_ordinal(spark: SparkSession) -> None:
    places = DeletePlaces.of([])
    frame = spark.createDataFrame([("a",)], "one string")
    ((found,),) = frame.select(places.ordinal(spark, ["one"])).collect()
    assert found < 0
