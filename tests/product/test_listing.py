"""Tests that a statement lists each directory of a table once, and Spark lists none again."""

from __future__ import annotations

from collections import Counter

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.format.names import STAGING_PREFIX
from tests.product.listing import note_listings

pytestmark = pytest.mark.spark


@pytest.fixture
def listed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count the listings of each directory outside staging."""
    counts: Counter[str] = Counter()
    note_listings(monkeypatch, lambda path: counts.update([path] * (STAGING_PREFIX not in path)))
    return counts


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    ("statement", "directories"),
    [
        ("SELECT * FROM listing a JOIN listing b ON a.id = b.id", 5),
        ("UPDATE listing SET id = id + 1", 5),
        ("DELETE FROM listing WHERE id = 2", 5),
        ("MERGE INTO listing t USING listing s ON t.id = s.id WHEN MATCHED THEN DELETE", 5),
        ("INSERT INTO listing VALUES (9)", 1),
    ],
)
def test_each_directory_is_listed_once(
    spark: SparkSession, listed: Counter[str], statement: str, directories: int
) -> None:
    acidsql.sql(
        spark,
        "CREATE TABLE listing (id INT) STORED AS ORC TBLPROPERTIES ('transactional'='true')",
    )
    try:
        acidsql.sql(spark, "INSERT INTO listing VALUES (1), (2)")
        acidsql.sql(spark, "INSERT INTO listing VALUES (3)")
        acidsql.sql(spark, "UPDATE listing SET id = 4 WHERE id = 3")
        listed.clear()
        acidsql.sql(spark, statement).collect()
        # The table's own directory, three deltas and a delete delta.
        assert len(listed) == directories
        assert set(listed.values()) == {1}
    finally:
        acidsql.sql(spark, "DROP TABLE listing")
