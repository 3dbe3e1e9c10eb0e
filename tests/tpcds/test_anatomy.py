"""Processor time is that of the kinds of threads that took it."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psutil
import pytest

from tpcds_bench.peers.anatomy import (
    C1,
    C2,
    DRIVER,
    GC,
    KINDS,
    PYTHON,
    TASKS,
    Compiled,
    kind_of,
    spent,
    threads,
)


@pytest.mark.parametrize(
    ("command", "thread", "kind"),
    [
        ("java", "Executor task l", TASKS),
        ("java", "C1 CompilerThre", C1),
        ("java", "C2 CompilerThre", C2),
        ("java", "GC Thread#0", GC),
        ("java", "G1 Conc#0", GC),
        ("java", "Thread-4", DRIVER),
        ("python3", "python3", PYTHON),
    ],
)
def test_threads_are_told_by_their_names(command: str, thread: str, kind: str) -> None:
    assert kind_of(command, thread) == kind


def test_a_thread_that_began_meanwhile_counts_from_nothing() -> None:
    before = {(1, 1): (PYTHON, 2.0), (2, 3): (C2, 5.0), (2, 4): (TASKS, 9.0)}
    after = {(1, 1): (PYTHON, 2.5), (2, 3): (C2, 5.0), (2, 5): (TASKS, 1.5)}
    expected = {**dict.fromkeys(KINDS, 0.0), PYTHON: 0.5, TASKS: 1.5}
    assert spent(before, after) == expected


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="the names are Linux's")
def test_threads_of_this_process_are_seen() -> None:
    root = psutil.Process()
    before = threads(root)
    end = threading.Event()

    def work() -> None:
        deadline = time.thread_time() + 0.1
        while time.thread_time() < deadline:
            pass
        end.wait()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        while spent(before, threads(root))[PYTHON] < 0.05:
            time.sleep(0.01)
    finally:
        end.set()
        worker.join()


def test_what_was_compiled_before_does_not_count() -> None:
    before = Compiled(programs=3, seconds=0.5, classes=100)
    after = Compiled(programs=5, seconds=0.75, classes=130)
    assert after.since(before) == Compiled(programs=2, seconds=0.25, classes=30)
