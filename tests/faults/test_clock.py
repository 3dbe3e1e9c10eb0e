"""Short form of the campaign of jumping clocks."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import clock
from tests.faults.campaign import Options, report, violations
from tests.requirements import require_tools

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_a_jump_of_the_clock_loses_nothing(tmp_path: Path) -> None:
    require_tools("cc")
    found = list(clock.FAMILY.run(Options(count=5, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
