"""Short form of the campaign of interrupts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults import interrupts, notebook, shell
from tests.faults.campaign import Options, report, violations

pytestmark = [pytest.mark.spark, pytest.mark.faults]


def test_an_interrupted_statement_has_happened_or_not_and_its_session_goes_on(
    tmp_path: Path,
) -> None:
    found = list(interrupts.interrupted(Options(count=4, seed=0, home=tmp_path)))
    assert [fault.violation for fault in violations(found)] == []
    assert any(fault.struck for fault in found), report(found)


def test_ctrl_c_in_the_shell(tmp_path: Path) -> None:
    found = list(shell.interrupted(tmp_path, range(1)))
    assert [fault.violation for fault in violations(found)] == []


def test_the_button_of_a_notebook(tmp_path: Path) -> None:
    found = list(notebook.interrupted(tmp_path, range(1)))
    assert [fault.violation for fault in violations(found)] == []
