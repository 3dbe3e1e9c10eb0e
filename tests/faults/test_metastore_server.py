"""Short form of the faults of a metastore server."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.faults import metastore_server
from tests.faults.campaign import Options, report, violations
from tests.java_tools import TOOLS, JavaSetupError
from tests.requirements import require_tools, unavailable

pytestmark = [pytest.mark.metastore, pytest.mark.spark]

_COUNT = 12


def test_a_server_that_fails_at_a_call(spark: SparkSession, tmp_path: Path) -> None:
    del spark  # the family uses the session that there is
    require_tools(*TOOLS)
    try:
        found = list(metastore_server.run(Options(count=_COUNT, seed=0, home=tmp_path)))
    except JavaSetupError as error:
        unavailable(f"no metastore: {error}")
    assert not violations(found), report(found)
    assert sum(fault.struck for fault in found) > _COUNT // 2, report(found)
