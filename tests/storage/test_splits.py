"""Tests of the parts of files that tasks read."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from acidsql.format.changed_write_ids import ChangedWriteIds
from acidsql.format.valid_lists import ValidWriteIdList
from acidsql.storage.splits import (
    DataFile,
    DeleteFile,
    FileKind,
    Part,
    RowIds,
    encode,
    encode_partitions,
    plan_tasks,
    split_size,
)


def file(length: int, name: str = "f") -> DataFile:
    return DataFile(
        kind=FileKind.EVENTS, path=f"file:/t/{name}", length=length, columns=2, ordinal=0
    )


def lengths(tasks: list[list[Part]]) -> list[list[int]]:
    return [[part.length for part in task] for task in tasks]


def test_parts_are_as_large_as_spark_makes_them() -> None:
    # FilePartition.maxSplitBytes: all bytes and open costs by the number of tasks, within bounds
    assert split_size([1000, 1000], tasks=2, most=5000, open_cost=100) == 1100
    assert split_size([1000, 1000], tasks=2, most=500, open_cost=100) == 500
    assert split_size([10], tasks=8, most=500, open_cost=100) == 100
    assert split_size([], tasks=0, most=500, open_cost=100) == 100


def test_the_largest_parts_come_first() -> None:
    tasks = plan_tasks([file(10), file(250), file(30)], size=100, open_cost=5)
    assert lengths(tasks) == [[100], [100], [50, 30, 10]]


def test_opening_a_file_counts() -> None:
    assert lengths(plan_tasks([file(10)] * 4, size=40, open_cost=20)) == [[10, 10], [10, 10]]


def test_files_without_a_byte_are_not_read() -> None:
    assert plan_tasks([file(0)], size=10, open_cost=1) == []


@given(st.lists(st.integers(0, 5_000), max_size=12), st.integers(1, 3_000), st.integers(0, 500))
def test_each_byte_is_read_once(sizes: list[int], size: int, open_cost: int) -> None:
    files = [file(length, str(i)) for i, length in enumerate(sizes)]
    tasks = plan_tasks(files, size, open_cost)
    assert all(task for task in tasks)
    read = sorted((p.file.path, p.start, p.length) for task in tasks for p in task)
    for one in files:
        end = 0
        for path, start, length in read:
            if path == one.path:
                assert start == end
                assert 0 < length <= size
                end += length
        assert end == one.length


def test_the_bytes_of_a_plan() -> None:
    visible = ValidWriteIdList(
        table="t", high_water_mark=9, open=frozenset({7}), aborted=frozenset({3})
    )
    deletes = (
        DeleteFile(path="d", length=5, modified=6, events=2, bounds=(1, 2, 3, 4, 5, 6)),
        DeleteFile(path="é", length=7, modified=8, events=1, bounds=()),
    )
    one = DataFile(
        kind=FileKind.ORIGINAL,
        path="o",
        length=4,
        columns=3,
        ordinal=1,
        deletes=deletes,
        deleters=visible,
        own_rows_only=True,
        row_ids=RowIds(write_id=0, bucket=536870912, first=100),
    )
    changed = ChangedWriteIds(table="t", high_water_mark=9, above=6, earlier=frozenset({5, 2}))
    other = DataFile(
        kind=FileKind.EVENTS, path="e", length=8, columns=2, ordinal=0, visible=changed
    )
    assert encode([[Part(one, 0, 4)], [Part(other, 3, 5)]], keeps_deletes=True) == b"".join(
        [
            struct.pack(">i", 2),  # lists of write ids
            struct.pack(">qi2qqi", 9, 2, 3, 7, -(2**63), 0),
            struct.pack(">qiqi2q", 9, 0, 6, 2, 2, 5),
            struct.pack(">i", 1),  # sets of delete files
            struct.pack(">i", 2),
            struct.pack(">i1s3qi6q", 1, b"d", 5, 6, 2, 6, 1, 2, 3, 4, 5, 6),
            struct.pack(">i2s3qi", 2, "é".encode(), 7, 8, 1, 0),
            struct.pack(">i", 2),  # tasks
            struct.pack(">i", 1),
            struct.pack(">bi1s3q4ii2?", 1, 1, b"o", 4, 0, 4, 3, 1, -1, 0, 0, True, True),
            struct.pack(">qiq", 0, 2**29, 100),
            struct.pack(">i", 1),
            struct.pack(">bi1s3q4i", 0, 1, b"e", 8, 3, 5, 2, 0, 1, -1),
        ]
    )


def test_the_bytes_of_partition_values() -> None:
    assert encode_partitions([["a", None], ["", "é"]]) == b"".join(
        [
            struct.pack(">i", 2),
            struct.pack(">i1si", 1, b"a", -1),
            struct.pack(">ii2s", 0, 2, "é".encode()),
        ]
    )
