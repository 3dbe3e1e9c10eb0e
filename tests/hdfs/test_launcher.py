"""Tests that the HDFS of the tests is a real one, with all that acidsql needs of a file system."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

pytestmark = [pytest.mark.hdfs, pytest.mark.spark]


def test_spark_writes_and_reads_orc(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    place = f"{hdfs_uri}/launcher/orc"
    hdfs_spark.range(1000).coalesce(1).write.orc(place)
    assert hdfs_spark.read.orc(place).agg({"id": "sum"}).collect() == [(499_500,)]


def test_files_can_be_appended_and_renamed(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    jvm = hdfs_spark._jvm
    assert jvm is not None
    conf = hdfs_spark.sparkContext._jsc.hadoopConfiguration()
    old, new = (jvm.org.apache.hadoop.fs.Path(f"{hdfs_uri}/launcher/{name}") for name in "ab")
    files = old.getFileSystem(conf)
    assert files.getScheme() == "hdfs"
    for open_stream in (files.create, files.append):
        stream = open_stream(old)
        stream.write(b"half")
        stream.close()
    assert files.rename(old, new)
    assert not files.exists(old)
    stream = files.open(new)
    try:
        assert bytes(jvm.org.apache.commons.io.IOUtils.toByteArray(stream)) == b"halfhalf"
    finally:
        stream.close()


def test_renaming_onto_a_directory_moves_into_it(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    jvm = hdfs_spark._jvm
    assert jvm is not None
    conf = hdfs_spark.sparkContext._jsc.hadoopConfiguration()
    root = f"{hdfs_uri}/launcher/renames"
    source, target, moved = (
        jvm.org.apache.hadoop.fs.Path(f"{root}/{name}") for name in ("s", "t", "t/s")
    )
    files = source.getFileSystem(conf)
    for directory in (source, target):
        files.mkdirs(directory)
    assert files.rename(source, target)
    assert files.exists(moved)
