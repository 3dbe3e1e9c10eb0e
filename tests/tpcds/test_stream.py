"""The rates of a long stream are those of its minutes."""

from __future__ import annotations

from tpcds_bench.stream import Result, Size, rates


def test_batches_count_in_the_minute_in_which_they_end() -> None:
    size = Size(minutes=3, rows=60, keys=10)
    # The first batch begins the first minute; what ends after the last minute does not count.
    ends = [1000.0, 1001.0, 1059.9, 1060.0, 1180.5]
    assert rates(ends, size) == [2.0, 1.0, 0.0]


def test_the_end_is_compared_with_the_beginning() -> None:
    result = Result(
        rates=(50.0, 100.0, 90.0, 80.0, 80.0, 80.0, 1.0),
        batches=7,
        most_directories=12,
        directories=3,
    )
    assert result.ratio == 80.0 / 50.0
    assert result.ratio_warm == 0.8
