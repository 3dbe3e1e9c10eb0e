"""Tests of conversions from Delta and Iceberg, and of exports into them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.copies.lakes import packages

_ROOT = Path(__file__).parents[2]


@pytest.mark.repeated
@pytest.mark.skipif(packages() is None, reason="no Delta and Iceberg for this release of Spark")
def test_tables_of_delta_and_iceberg(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.copies.lakes", str(tmp_path)],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])  # after what Ivy says
    rows = [[0, "p0"], [1, "p1"], [2, "p0"]]
    expected = {"first": 2, "batches": 2, "copied": 1, "partitions": ["p"]}
    # The version is that with which the conversion began.
    assert found["delta"] == {**expected, "rows": rows}
    assert found["iceberg"] == {**expected, "rows": rows}
    assert found["table"] == {**expected, "first": 1, "rows": [[1, "p1"], [2, "p0"]]}
    exported = {"rows": 3, "partitions": ["p"], "back": 3}
    assert found["to_delta"] == found["to_iceberg"] == exported
