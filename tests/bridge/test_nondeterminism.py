"""Tests of rows that a task computes alike when it runs again, and of rows computed once."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

from acidsql import bridge
from acidsql.bridge.nondeterminism import is_repeatable
from acidsql.errors import WriteJobError

pytestmark = pytest.mark.spark

_JOIN = "range(9) AS a JOIN range(9) AS b USING (id)"


@pytest.fixture(scope="module", autouse=True)
def drawn(spark: SparkSession) -> Iterator[None]:
    """Register a function that gives a new text each time."""
    function = udf(lambda _: str(uuid.uuid4()), "string")
    spark.udf.register("drawn", function.asNondeterministic())
    spark.udf.register("fails", udf(lambda _: 1 // 0, "int").asNondeterministic())
    yield
    spark.sql("DROP TEMPORARY FUNCTION drawn")
    spark.sql("DROP TEMPORARY FUNCTION fails")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT id FROM {_JOIN}", True),
        ("SELECT uuid(), rand() + id, shuffle(array(id)) FROM range(9)", True),
        ("SELECT explode(array(1, rand())) FROM (SELECT * FROM range(9) WHERE rand() < 1)", True),
        ("SELECT uuid() FROM VALUES (1) UNION ALL SELECT uuid() FROM range(2)", True),
        ("SELECT a.id FROM (SELECT id, rand() FROM range(9)) a JOIN range(9) b USING (id)", True),
        (f"SELECT rand() FROM {_JOIN}", False),
        ("SELECT uuid() FROM (SELECT id FROM range(9) GROUP BY id)", False),
        ("SELECT drawn(id) FROM range(9)", False),
        ("SELECT drawn(CAST(rand() AS INT)) FROM range(9)", False),
        ("SELECT id + (SELECT rand()) FROM range(9)", False),
    ],
)
def test_tasks_that_run_again_compute_the_same(
    spark: SparkSession, query: str, expected: bool
) -> None:
    frame = spark.sql(query)
    assert is_repeatable(bridge.logical_plan(frame)) is expected
    assert (bridge.computed_once(frame) is frame) is expected


@pytest.mark.slow
def test_rows_are_computed_once(spark: SparkSession) -> None:
    once = bridge.computed_once(spark.sql("SELECT id, drawn(id) AS v FROM range(0, 9, 1, 3)"))
    rows = sorted(once.collect())
    assert len({row.v for row in rows}) == 9
    assert sorted(once.repartition("v").collect()) == rows
    assert once.where("id = 3").collect() == rows[3:4]


def test_an_error_of_the_job_is_raised(spark: SparkSession) -> None:
    with pytest.raises(Exception, match="ZeroDivisionError") as caught:
        bridge.computed_once(spark.sql("SELECT fails(id) FROM range(9)"))
    assert isinstance(caught.value, WriteJobError) or "PythonException" in repr(caught.value)
