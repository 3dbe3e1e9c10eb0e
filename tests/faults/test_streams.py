"""Short form of the campaign of streams."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import streams
from tests.faults.campaign import Options, report, violations

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_a_stream_that_is_killed_loses_and_doubles_nothing(tmp_path: Path) -> None:
    found = list(streams.FAMILY.run(Options(count=1, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
