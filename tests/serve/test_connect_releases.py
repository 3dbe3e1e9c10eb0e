"""Test of ``acidsql serve --connect`` on a release of Spark whose server it does not know."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyspark
import pytest

_PROGRAM = "from acidsql.repl.main import main; main()"


@pytest.mark.spark
@pytest.mark.serve
@pytest.mark.skipif(pyspark.__version__ >= "4", reason="PySpark 4 has the server")
def test_pyspark_3_is_refused(tmp_path: Path) -> None:
    options = ["--connect", "--auth", "none", "--port", "0", "--warehouse", str(tmp_path / "w")]
    answer = subprocess.run(
        [sys.executable, "-c", _PROGRAM, "serve", *options, "--master", "local[1]"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert answer.returncode == 1
    assert "[CONNECT_SERVER_MISSING] this Spark (3." in answer.stderr
