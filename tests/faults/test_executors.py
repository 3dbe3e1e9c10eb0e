"""Short form of the campaign of killed executors."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import executors
from tests.faults.campaign import Options, report, violations

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_rows_are_there_once_when_executors_are_killed(tmp_path: Path) -> None:
    found = list(executors.FAMILY.run(Options(count=2, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
