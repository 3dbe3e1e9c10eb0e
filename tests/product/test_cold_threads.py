"""Tests of the first calls of a process, which come from many threads, or from a stream."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import acidsql
from tests.product import cold_program, first_batch_program

pytestmark = pytest.mark.spark


def test_each_public_function_is_called_by_sixteen_threads() -> None:
    text = Path(cold_program.__file__).read_text("utf-8")
    functions = {name for name in acidsql.__all__ if name.islower()}
    assert functions - set(re.findall(r"\bacidsql\.(\w+)\(", text)) == set()


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


@pytest.mark.slow
def test_the_first_read_of_a_process_may_come_from_a_batch_of_a_stream(tmp_path: Path) -> None:
    """Check that what reads need of py4j does not disturb the server of PySpark's stream."""
    done = subprocess.run(
        [sys.executable, "-m", first_batch_program.__name__, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout == "[0, 1, 2, 3, 4, 5]\n"
