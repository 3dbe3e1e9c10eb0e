"""Tests of ``.ci/run``, the whole check."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / ".ci" / "run"
TOOLS = ("git", "java", "javac", "keytool", "mvn", "cc", "gpg")


@pytest.mark.parametrize("missing", TOOLS)
def test_a_missing_tool_ends_it_before_it_begins(tmp_path: Path, missing: str) -> None:
    """Check on a PATH with commands that do nothing."""
    bash, dirname = shutil.which("bash"), shutil.which("dirname")
    assert bash is not None
    assert dirname is not None
    (tmp_path / "dirname").symlink_to(dirname)
    for tool in TOOLS:
        if tool != missing:
            (tmp_path / tool).write_text("#!/bin/sh\n")
            (tmp_path / tool).chmod(0o755)
    done = subprocess.run(
        [bash, CHECK], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"error: {missing} is not on the PATH: ")
