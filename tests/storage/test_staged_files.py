"""Staged files of a write job, by its manifest."""

from __future__ import annotations

from pathlib import Path

import pytest

from acidsql.bridge.manifest_write import WrittenFile, read_manifest
from acidsql.bridge.s3 import LEAST_PART, part_ranges
from acidsql.insert_only.staged import directories_of

_STAGING = "s3a://b/t/_acidsql_staging_7"


def test_a_manifest_has_paths_as_addresses(tmp_path: Path) -> None:
    path = "s3a://b/t/_acidsql_staging_7/__target=i0/__part_0=%C3%A4%20%252F1/part-0.orc"
    (tmp_path / "0").write_text(
        f'v1\n{{"path":"{path}","size":5,"isDir":false,"action":"add"}}\n', encoding="utf-8"
    )
    written = read_manifest(tmp_path)
    assert written == [WrittenFile(f"{_STAGING}/__target=i0/__part_0=ä %2F1/part-0.orc", 5)]
    (directory,) = directories_of(_STAGING, {file.path: file.size for file in written})
    assert (directory.target, directory.values) == ("i0", ("ä /1",))


def test_the_manifest_of_a_job_without_rows_is_empty(tmp_path: Path) -> None:
    (tmp_path / "0").write_text("v1", encoding="utf-8")
    assert read_manifest(tmp_path) == []


def test_files_are_grouped_by_target_and_partition() -> None:
    sizes = {
        f"{_STAGING}/__target=i0/__part_0=1/__part_1=x/part-1.orc": 1,
        f"{_STAGING}/__target=i0/__part_0=1/__part_1=x/part-0.orc": 2,
        f"{_STAGING}/__target=i0/part-0.orc": 4,
    }
    found = {(d.target, d.values): dict(d.sizes) for d in directories_of(_STAGING, sizes)}
    assert found == {
        ("i0", ("1", "x")): {"part-0.orc": 2, "part-1.orc": 1},
        ("i0", ()): {"part-0.orc": 4},
    }


@pytest.mark.parametrize("length", [LEAST_PART, 2 * LEAST_PART, 37 * LEAST_PART + 11])
def test_parts_are_whole_and_not_too_small(length: int) -> None:
    parts = list(part_ranges(length, most=2 * LEAST_PART))
    assert parts[0][0] == 0
    assert parts[-1][1] == length - 1
    assert [start for start, _ in parts[1:]] == [end + 1 for _, end in parts[:-1]]
    sizes = [end - start + 1 for start, end in parts]
    assert LEAST_PART <= min(sizes) <= max(sizes) <= 2 * LEAST_PART
