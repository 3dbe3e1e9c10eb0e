"""Short form of the campaign of faults without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.campaign import Options, report, violations
from tests.faults.metastore_kills import FAMILY

pytestmark = pytest.mark.faults


def test_statements_without_spark_are_whole_after_faults(tmp_path: Path) -> None:
    found = list(FAMILY.run(Options(count=120, seed=1, home=tmp_path)))
    print(report(found))
    assert violations(found) == []
    assert len(found) == 120
    assert sum(fault.struck for fault in found) > 100
