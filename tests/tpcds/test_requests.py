"""Requests are distinguished by what they do, and reported as a ratio."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tpcds_bench.report import markdown
from tpcds_bench.requests import KINDS, Cost, NotCountedError, difference, run, sections


def made(*counts: int) -> dict[str, int]:
    return dict(zip(KINDS, counts, strict=True))


def test_counters_of_s3a_by_kinds() -> None:
    before = {"store_io_request": 10, "object_list_request": 4, "object_put_request": 1}
    after = {
        "store_io_request": 25,
        "object_list_request": 6,
        "object_continue_list_request": 1,
        "object_put_request": 3,
        "action_http_get_request": 4,
        "stream_read_bytes": 7,
    }
    assert difference(before, after) == made(3, 0, 4, 2, 0, 6)
    assert difference(after, after) == made(0, 0, 0, 0, 0, 0)


def test_the_ratio_of_all_requests() -> None:
    cost = Cost(statement="UPDATE", acid=made(1, 2, 3, 0, 0, 0), flat=made(2, 2, 4, 2, 1, 1))
    assert cost.ratio == 0.5
    (section,) = sections([cost])
    assert list(section.rows) == [
        ("UPDATE", "1 + 2 + 3 + 0 + 0 + 0", 6, "2 + 2 + 4 + 2 + 1 + 1", 12, 0.5)
    ]
    assert "LIST, HEAD, GET, PUT, DELETE, others" in markdown([section])


@pytest.mark.spark
def test_a_place_where_nothing_is_counted(spark: SparkSession) -> None:
    with pytest.raises(NotCountedError, match="requests to file are not counted"):
        run(spark, "file:/tmp/nowhere")
