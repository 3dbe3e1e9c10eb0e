"""The rows of a long stream are those of its minutes."""

from __future__ import annotations

from tpcds_bench.stream import Result, Size, rows_of_minutes


def test_batches_count_in_the_minute_in_which_they_end() -> None:
    size = Size(minutes=3, rows=60, keys=10)
    # The first batch begins the first minute; what ends after the last minute does not count.
    ends = [1000.0, 1001.0, 1059.9, 1060.0, 1180.5]
    assert rows_of_minutes(ends, size) == [120, 60, 0]


def test_the_end_is_compared_with_the_beginning() -> None:
    result = Result(
        rates=(20.0, 100.0, 100.0, 100.0, 90.0, 95.0, 80.0, 80.0, 80.0, 1.0),
        costs=(9.0, 4.0, 4.0, 4.0, 4.0, 5.0, 5.0, 5.0, 5.0, 5.0),
        batches=7,
        most_directories=12,
        directories=3,
    )
    assert (result.ratio, result.cost_ratio) == (0.8, 0.8)
