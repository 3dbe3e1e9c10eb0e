"""Tables on a real HDFS: files are appended to and renamed there."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.scenario import core

pytestmark = [pytest.mark.spark, pytest.mark.hdfs]


def test_core_statements_on_hdfs(hdfs_spark: SparkSession, hdfs_uri: str) -> None:
    core(hdfs_spark, f"{hdfs_uri}/acid")
