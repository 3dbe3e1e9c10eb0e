"""Test of the first calls of a process, which come from many threads."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.product import cold_program

pytestmark = pytest.mark.spark


@pytest.mark.repeated
def test_the_first_calls_of_a_process_may_come_from_sixteen_threads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", cold_program.__name__, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    said = done.stdout
    assert done.returncode == 0, said + done.stderr
    assert "failed" not in said, said
    assert said.endswith(f"{2 * cold_program.WRITERS} rows\n"), said
