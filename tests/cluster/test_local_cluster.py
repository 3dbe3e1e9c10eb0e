"""Driver and executors in separate processes: nothing leans on the driver's own state."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

pytestmark = [pytest.mark.spark, pytest.mark.cluster]

ROOT = Path(__file__).parent.parent.parent


def run(walk: str, home: Path, *settings: str) -> None:
    """Run a walk of ``tests/scenario.py`` on a cluster of two executors."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    program = [sys.executable, str(ROOT / "tests" / "scenario.py")]
    done = subprocess.run(
        [*program, "local-cluster[2,1,1024]", str(home), walk, *settings],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert f"{walk} passed with 2 executors" in done.stdout


def test_core_statements_on_a_cluster(tmp_path: Path) -> None:
    run("core", tmp_path)


def test_tasks_that_run_again_leave_one_file_per_bucket(tmp_path: Path) -> None:
    run("retries", tmp_path, "spark.speculation=true", "spark.speculation.interval=50ms")
