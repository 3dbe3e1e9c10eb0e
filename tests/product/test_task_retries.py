"""Tests that a task that fails and runs again leaves one file per bucket, and no row twice."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.scenario_runs import run_walk

pytestmark = pytest.mark.spark


@pytest.mark.repeated
def test_tasks_that_run_again_leave_one_file_per_bucket(tmp_path: Path) -> None:
    # In a process of its own: the shared session's tasks have one attempt.
    assert "retries passed" in run_walk("local[2,3]", tmp_path, "retries")
