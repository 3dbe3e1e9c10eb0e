"""What is handed to Spark's scans, without Spark."""

from __future__ import annotations

import pytest

from acidsql.bridge.relations import ScanFile, _root


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
    assert _root([ScanFile(path, 1) for path in paths]) == f"{root}/_acidsql_snapshot"
