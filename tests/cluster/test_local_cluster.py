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


def test_core_statements_on_a_cluster(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(ROOT),
    }
    program = [sys.executable, str(ROOT / "tests" / "scenario.py")]
    done = subprocess.run(
        [*program, "local-cluster[2,1,1024]", str(tmp_path)],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    assert "scenario passed with 2 executors" in done.stdout
