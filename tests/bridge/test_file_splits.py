"""Tests of the sizes of a scan's tasks, without Spark."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from acidsql.bridge.file_splits import share_of_task

MIB = 1024 * 1024
OPEN_COST, MOST = 4 * MIB, 128 * MIB  # Spark's defaults


def tasks_of(sizes: Sequence[int], share: int) -> list[int]:
    """Return the bytes of each task, as Spark's FilePartition divides files among tasks."""
    parts = [min(share, size - start) for size in sizes for start in range(0, size, share)]
    tasks: list[int] = []
    counted = 0
    for part in sorted(parts, reverse=True):
        if not tasks or counted + part > share:
            tasks.append(0)
            counted = 0
        tasks[-1] += part
        counted += part + OPEN_COST
    return tasks


def spark_own(sizes: Sequence[int], tasks: int) -> int:
    counted = sum(sizes) + OPEN_COST * len(sizes)
    return min(MOST, max(OPEN_COST, counted // tasks))


@pytest.mark.parametrize(
    ("sizes", "tasks", "share"),
    [
        # Two large files and forty deltas of half a MiB: Spark has one task read both.
        ([46 * MIB] * 2 + [MIB // 2] * 40, 2, 56 * MIB),
        ([400 * MIB] * 2 + [MIB] * 1200, 20, 100 * MIB),
        # Nothing to gain: equal files, small ones only, and too few bytes for more tasks.
        ([46 * MIB] * 2, 2, None),
        ([46 * MIB] * 2 + [10_000], 2, None),
        ([10_000] * 1000, 2, None),
        ([15 * MIB] * 2 + [10_000] * 100, 2, None),
        ([400 * MIB] * 2 + [MIB] * 300, 100, None),
        ([200 * MIB] * 100 + [100_000] * 2000, 100, None),
    ],
)
def test_large_files_are_kept_apart(sizes: list[int], tasks: int, share: int | None) -> None:
    assert share_of_task(sizes, tasks=tasks, most=MOST, open_cost=OPEN_COST) == share


def test_spark_would_have_one_task_read_both_large_files() -> None:
    sizes = [46 * MIB] * 2 + [MIB // 2] * 40
    assert max(tasks_of(sizes, spark_own(sizes, 2))) > 92 * MIB
    assert max(tasks_of(sizes, 56 * MIB)) < 50 * MIB


@given(
    sizes=st.lists(st.integers(1, 300 * MIB) | st.integers(1, MIB), min_size=2, max_size=100),
    tasks=st.integers(1, 40),
)
def test_tasks_are_neither_large_nor_many(sizes: list[int], tasks: int) -> None:
    share = share_of_task(sizes, tasks=tasks, most=MOST, open_cost=OPEN_COST)
    if share is None:
        return
    found = tasks_of(sizes, share)
    assert max(found) <= share < spark_own(sizes, tasks)
    even = sum(sizes) / tasks
    assert share <= max(even, OPEN_COST, (sum(sizes) + OPEN_COST * len(sizes)) / tasks / 4)
    assert len(found) <= 10 * tasks + 1
