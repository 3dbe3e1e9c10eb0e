"""Short form of the campaign of pauses."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import pauses
from tests.faults.campaign import Options, report, violations

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_a_process_that_slept_for_too_long_harms_nothing(tmp_path: Path) -> None:
    found = list(pauses.FAMILY.run(Options(count=2, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
