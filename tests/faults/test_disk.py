"""Short form of the campaign of full disks."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.faults import disk
from tests.faults.campaign import Options, report, violations
from tests.requirements import unavailable

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_a_statement_on_a_full_disk_fails_and_the_next_one_succeeds(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        unavailable("only root can mount a small disk")
    found = list(disk.filled("tables-and-metastore", Options(count=4, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
