"""Tests that a task that fails and runs again leaves one file per bucket, and no row twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.spark

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.slow
def test_tasks_that_run_again_leave_one_file_per_bucket(tmp_path: Path) -> None:
    # In a process of its own: the shared session's tasks have one attempt.
    program = [sys.executable, str(ROOT / "tests" / "scenario.py")]
    done = subprocess.run(
        [*program, "local[2,3]", str(tmp_path), "retries"],
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": str(ROOT)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert "retries passed" in done.stdout
