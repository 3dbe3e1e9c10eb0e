"""Short form of the faults of HDFS."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults import hdfs
from tests.faults.campaign import Options, report, violations
from tests.requirements import require_tools

pytestmark = [pytest.mark.hdfs, pytest.mark.spark]

_COUNT = 4


def test_nodes_that_are_killed(spark: SparkSession, tmp_path: Path) -> None:
    del spark  # the family uses the session that there is
    require_tools("mvn", "java")
    found = list(hdfs.run(Options(count=_COUNT, seed=len(hdfs.STATEMENTS) * 8, home=tmp_path)))
    assert not violations(found), report(found)
    assert sum(fault.struck for fault in found) > _COUNT // 2, report(found)
