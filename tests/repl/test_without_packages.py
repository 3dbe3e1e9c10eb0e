"""The command says what it needs where its packages are not installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

# A module that is None cannot be imported, as if it were not there.
_PROGRAM = """
import runpy, sys
sys.modules[sys.argv.pop(1)] = None
runpy.run_module("acidsql", run_name="__main__")
"""


def _run(missing: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _PROGRAM, missing, "--version"],
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize("package", ["click", "prompt_toolkit", "cli_helpers"])
def test_a_missing_package_is_a_sentence(package: str) -> None:
    done = _run(package)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"error: the command acidsql needs the package {package}")
    assert done.stderr.endswith("pip install 'acidsql[shell]'\n")


def test_a_fault_of_acidsql_is_no_missing_package() -> None:
    done = _run("acidsql.repl.shell")
    assert done.returncode == 1
    assert "ModuleNotFoundError" in done.stderr
