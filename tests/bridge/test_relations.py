"""Tests of the file lists that Spark's scans are given, without Spark."""

from __future__ import annotations

import re

import pytest

from acidsql.bridge.file_statuses import ScanFile
from acidsql.bridge.relations import _root


@pytest.mark.parametrize(
    ("paths", "root"),
    [
        (["file:/w/t/base_1/bucket_00000"], "file:/w/t/base_1"),
        (["file:/w/t/base_1/b", "file:/w/t/delta_2/b"], "file:/w/t"),
        (["file:/w/t/delta_2/b", "file:/w/t/base_1/b", "file:/w/t/delta_1/b"], "file:/w/t"),
        (["hdfs://h:9000/w/t/p=1/base_1/b", "hdfs://h:9000/w/t/p=2/base_1/b"], "hdfs://h:9000/w/t"),
        # Of other places, and of another file system, the directory of a file.
        (["hdfs://h:9000/a/base_1/b", "hdfs://h:9000/c/base_1/b"], "hdfs://h:9000/a/base_1"),
        (["hdfs://h:9000/w/base_1/b", "s3a://h/w/base_1/b"], "hdfs://h:9000/w/base_1"),
    ],
)
def test_the_root_of_files_is_no_directory_that_is_there(paths: list[str], root: str) -> None:
    found = _root([ScanFile(path, 1) for path in paths])
    assert re.fullmatch(re.escape(root) + "/_acidsql_snapshot_[0-9a-f]{32}", found)


def test_other_files_and_other_ordinals_have_another_root() -> None:
    """Check that different scans have different roots: Spark takes scans of equal roots for the
    same.
    """
    one, other = ScanFile("file:/w/t/p=1/base_1/b", 5, 0), ScanFile("file:/w/t/p=2/base_1/b", 5, 1)
    files = [one, other, ScanFile("file:/w/t/p=3/base_1/b", 5, 2)]
    roots = [
        _root(files),
        _root(files[:2]),
        _root([one, other._replace(ordinal=2)]),
        _root([one, other._replace(size=6)]),
    ]
    assert len(set(roots)) == len(roots)
    assert _root(files[::-1]) == roots[0]
