"""Short form of the campaign of failing files."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import io
from tests.faults.campaign import Options, report, violations
from tests.requirements import require_tools

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_a_statement_whose_file_operation_fails_leaves_all_as_before(tmp_path: Path) -> None:
    require_tools("javac")
    found = list(io.failing("faulty", Options(count=4, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)
