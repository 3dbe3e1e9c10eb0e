"""Short forms of the soak: writers in threads, in sessions and in processes, each by itself."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.spark, pytest.mark.faults]


@pytest.mark.sample("processes")
@pytest.mark.parametrize(
    "writers",
    [
        ["--threads", "3", "--sessions", "0", "--processes", "0"],
        ["--threads", "0", "--sessions", "3", "--processes", "0"],
        ["--threads", "1", "--sessions", "0", "--processes", "1"],
        pytest.param(
            ["--threads", "2", "--sessions", "0", "--processes", "0", "--filesystem", "s3"],
            marks=pytest.mark.s3,
        ),
    ],
    ids=["threads", "sessions", "processes", "S3"],
)
def test_concurrent_statements_keep_snapshot_isolation(tmp_path: Path, writers: list[str]) -> None:
    """Run in a process of its own: the session of the other tests is not one to measure."""
    size = ["--minutes", "0.25", "--round", "8", "--seed", "1", "--report", str(tmp_path)]
    run = subprocess.run(
        [sys.executable, "-m", "tests.concurrency", *size, *writers],
        check=False,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert run.returncode == 0, run.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert report["violations"] == []
    assert report["commits"] > 0
    assert report["readings"] > 0
    assert report["overlapping"] > 0
    assert (tmp_path / "soak.svg").exists()
