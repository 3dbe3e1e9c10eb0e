"""Tests of operations on files by Hadoop."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.storage.filesystem import FileSystem

pytestmark = pytest.mark.spark


def test_a_file_takes_the_place_of_another_one(spark: SparkSession, tmp_path: Path) -> None:
    files = FileSystem(spark)
    (tmp_path / "old").write_bytes(b"old")
    (tmp_path / "new").write_bytes(b"new")
    source = files.hadoop_path(f"file:{tmp_path}/new")
    bridge.replace_path(spark, source, files.hadoop_path(f"file:{tmp_path}/old")[1])
    assert (tmp_path / "old").read_bytes() == b"new"
    assert not (tmp_path / "new").exists()
