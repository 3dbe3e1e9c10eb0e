"""Tests of what is taken for growth, and for left over."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.concurrency.resources import Sample, growing, leftovers


def samples(name: str, values: Sequence[float]) -> list[Sample]:
    return [Sample(seconds=i, at_rest=True, values={name: value}) for i, value in enumerate(values)]


@pytest.mark.parametrize("name", ["memory of main JVM", "heap of main", "rows of txns", "leases"])
def test_what_grows_steadily_is_found(name: str) -> None:
    found = list(growing(samples(name, [100 + 10 * i for i in range(16)])))
    assert found == [f"{name} grew from 155.0 to 235.0"]


@pytest.mark.parametrize("name", ["rows of write_ids", "rows of history"])
def test_rows_of_a_table_until_it_is_dropped_are_no_growth(name: str) -> None:
    assert list(growing(samples(name, [384] * 8 + [520] * 8))) == []
    assert list(growing(samples(name, [384] * 8 + [700] * 8)))


def test_what_grows_only_at_first_is_not() -> None:
    assert list(growing(samples("rows of txns", [0, 50, 90, 100, 100, 101, 99, 100] * 1))) == []


def test_samples_at_work_say_nothing_of_growth() -> None:
    at_work = [Sample(seconds=i, at_rest=False, values={"leases": 10.0 * i}) for i in range(16)]
    assert list(growing(at_work)) == []


def test_what_is_left_over() -> None:
    clean = {
        "leases": 0.0,
        "open writers": 0.0,
        "unsettled write ids": 0.0,
        "rows of locks": 0.0,
        "rows of file_operations": 0.0,
        "staging and holding": 0.0,
        "directories": 6.0,
    }
    assert list(leftovers(clean, 6)) == []
    for name in clean:
        assert len(list(leftovers({**clean, name: 7.0}, 6))) == 1
