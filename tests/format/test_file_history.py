"""Directories by what wrote them."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from acidsql.format.file_history import FoundDirectory, Writer, by_writer, operation_of
from acidsql.format.names import AcidDirectory, parse_directory


def directory(name: str) -> AcidDirectory:
    parsed = parse_directory(name)
    assert parsed is not None
    return parsed


def found(*names: str, partition: str | None = None) -> list[FoundDirectory]:
    return [
        FoundDirectory(partition=partition, path=f"/t/{partition}/{n}", directory=directory(n))
        for n in names
    ]


def groups(
    directories: Sequence[FoundDirectory], below: int | None = None, most: int | None = None
) -> dict[tuple[int, int, int, str | None], list[str]]:
    return {
        (writer.write_id, writer.txn_id, writer.first_write_id, writer.partition): [
            one.directory.name for one in own
        ]
        for writer, own in by_writer(directories, below, most).items()
    }


def test_a_write_id_is_one_writer_in_all_partitions() -> None:
    one = found("delta_0000001_0000001_0000", "delete_delta_0000001_0000001_0000", partition="p=1")
    two = found("delta_0000001_0000001_0000", "delta_0000002_0000002_0000", partition="p=2")
    assert list(by_writer([*one, *two], None, None).values()) == [[two[1]], [*one, two[0]]]


def test_compactions_are_writers_of_their_own_above_what_they_merged() -> None:
    names = (
        "base_0000003_v0000012",
        "delta_0000001_0000001_0000",
        "delta_0000003_0000003_0000",
        "delta_0000004_0000005_v0000014",
        "delete_delta_0000004_0000005_v0000014",
        "base_0000006",
    )
    assert groups(found(*names, partition="p=1")) == {
        (6, 0, 6, None): ["base_0000006"],
        (5, 14, 4, "p=1"): [
            "delta_0000004_0000005_v0000014",
            "delete_delta_0000004_0000005_v0000014",
        ],
        (3, 12, 1, "p=1"): ["base_0000003_v0000012"],
        (3, 0, 3, None): ["delta_0000003_0000003_0000"],
        (1, 0, 1, None): ["delta_0000001_0000001_0000"],
    }


def test_oldest_and_newest_are_left_out() -> None:
    names = [f"delta_000000{i}_000000{i}_0000" for i in range(1, 6)]
    assert [w[0] for w in groups(found(*names), below=4)] == [3, 2, 1]
    assert [w[0] for w in groups(found(*names), below=4, most=2)] == [3, 2]
    assert groups(found("base_-9223372036854775808"), most=2) == {}


@pytest.mark.parametrize(
    ("names", "inserted", "deleted", "truncated", "operation"),
    [
        (["delta_1_1_0"], 5, 0, False, "INSERT"),
        (["delta_1_1_0", "delete_delta_1_1_0"], 5, 5, False, "UPDATE or MERGE"),
        (["delete_delta_1_1_0"], 0, 5, False, "DELETE"),
        (["base_1"], 5, 0, False, "INSERT OVERWRITE"),
        (["base_1"], 0, 0, False, "INSERT OVERWRITE"),
        (["base_1"], 0, 0, True, "TRUNCATE"),
        (["delta_1_9"], 5, 0, False, None),
        (["delta_1_1_0"], None, 0, False, "INSERT"),
    ],
)
def test_operation(
    names: list[str], inserted: int | None, deleted: int, truncated: bool, operation: str | None
) -> None:
    given = [directory(name) for name in names]
    assert operation_of(given, inserted, deleted, truncated=truncated) == operation


def test_writer_knows_whether_it_is_a_compaction() -> None:
    assert Writer(3, 12, 1, None).is_compaction
    assert not Writer(3, 0, 3, None).is_compaction
