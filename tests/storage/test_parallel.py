"""Tests of actions on many files."""

from __future__ import annotations

import threading
import time

import pytest

from acidsql.storage.parallel import in_parallel


@pytest.mark.parametrize("mostly_cached", [False, True])
@pytest.mark.parametrize("count", [0, 1, 2, 50])
def test_results_have_the_order_of_the_items(*, mostly_cached: bool, count: int) -> None:
    found = in_parallel(lambda i: -i, range(count), mostly_cached=mostly_cached)
    assert found == [-i for i in range(count)]


def test_quick_actions_need_no_thread() -> None:
    found = in_parallel(lambda _: threading.get_ident(), range(50), mostly_cached=True)
    assert set(found) == {threading.get_ident()}


def test_slow_actions_run_at_the_same_time_after_the_first() -> None:
    together = threading.Barrier(3, timeout=60)

    def act(item: int) -> int:
        time.sleep(0.01)
        return item if item == 0 else together.wait() * 0 + item

    assert in_parallel(act, range(4), 3, mostly_cached=True) == [0, 1, 2, 3]


@pytest.mark.parametrize("mostly_cached", [False, True])
def test_a_failure_is_raised(*, mostly_cached: bool) -> None:
    with pytest.raises(ZeroDivisionError):
        in_parallel(lambda i: 1 // i, [1, 0, 1], mostly_cached=mostly_cached)
