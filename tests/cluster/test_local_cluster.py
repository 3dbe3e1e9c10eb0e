"""Driver and executors in separate processes: nothing leans on the driver's own state."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.scenario_runs import run_walk

pytestmark = [pytest.mark.spark, pytest.mark.cluster]


def run(walk: str, home: Path, settings: Mapping[str, str] | None = None) -> None:
    """Run a walk of ``tests/scenario.py`` on a cluster of two executors."""
    printed = run_walk("local-cluster[2,1,1024]", home, walk, settings)
    assert f"{walk} passed with 2 executors" in printed


def test_core_statements_on_a_cluster(tmp_path: Path) -> None:
    run("core", tmp_path)


def test_tasks_that_run_again_leave_one_file_per_bucket(tmp_path: Path) -> None:
    speculation = {"spark.speculation": "true", "spark.speculation.interval": "50ms"}
    run("retries", tmp_path, speculation)
