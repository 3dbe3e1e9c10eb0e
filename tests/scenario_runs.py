"""Runs of ``tests/scenario.py`` in processes of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pyspark

_ROOT = Path(__file__).parents[1]


def run_walk(master: str, home: Path, walk: str, settings: Mapping[str, str] | None = None) -> str:
    """Run a walk of the scenario, which must pass; return what it has printed."""
    environment = {
        **os.environ,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_HOME": str(Path(pyspark.__file__).parent),
        "PYSPARK_PYTHON": sys.executable,
        "PYTHONPATH": str(_ROOT),
    }
    given = [f"{key}={value}" for key, value in (settings or {}).items()]
    done = subprocess.run(
        [sys.executable, str(_ROOT / "tests" / "scenario.py"), master, str(home), walk, *given],
        env=environment,
        cwd=home,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    return done.stdout
