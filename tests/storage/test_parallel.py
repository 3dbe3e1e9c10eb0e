"""Tests of actions on many files."""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from textwrap import dedent
from typing import Any

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


def test_actions_run_while_the_interpreter_exits() -> None:
    # Functions of atexit, such as the end of a session, run after Python has closed all pools.
    program = """
        import atexit
        from acidsql.storage.parallel import in_parallel
        in_parallel(str, [1, 2])
        atexit.register(lambda: print(in_parallel(str, [1, 2, 3])))
    """
    done = subprocess.run(
        [sys.executable, "-c", dedent(program)], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("['1', '2', '3']\n", "")


def test_actions_that_get_no_thread_run_in_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    submit = ThreadPoolExecutor.submit
    submitted: list[Any] = []

    def limited(pool: ThreadPoolExecutor, *args: Any) -> Future[Any]:
        if len(submitted) == 2:
            raise RuntimeError("can't start new thread")
        submitted.append(args)
        return submit(pool, *args)

    monkeypatch.setattr(ThreadPoolExecutor, "submit", limited)
    found = in_parallel(lambda i: (i, threading.get_ident()), range(4), 4)
    assert [i for i, _ in found] == [0, 1, 2, 3]
    own = threading.get_ident()
    assert [thread == own for _, thread in found] == [False, False, True, True]


def test_a_failure_cancels_the_actions_that_have_not_begun() -> None:
    begun = []

    def act(item: int) -> None:
        begun.append(item)
        time.sleep(0.05)
        raise ValueError(item)

    with pytest.raises(ValueError, match="^0$"):
        in_parallel(act, range(50), 2)
    assert len(begun) < 10
