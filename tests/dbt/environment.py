"""Environment with dbt beside that of the tests: dbt and mypy cannot be in one."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
_AT_ONCE = 8
_PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check"]


def make_environment(directory: Path) -> Path:
    """Make an environment with dbt that finds the packages of this one after its own.

    Returns:
        Its interpreter.

    Raises:
        CalledProcessError: the package index does not answer, or has not got a release.
    """
    lines = REQUIREMENTS.read_text("utf-8").splitlines()
    wanted = [line for line in lines if line and not line.startswith("#")]
    wheels = directory / "wheels"
    parts = [wanted[i::_AT_ONCE] for i in range(_AT_ONCE)]
    download = [*_PIP, "download", "-q", "--no-deps", "--dest", str(wheels)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(lambda part: _run(*download, *part), parts))
    _run(sys.executable, "-m", "venv", "--without-pip", str(directory / "venv"))
    python = directory / "venv" / "bin" / "python"
    offline = ["--no-index", "--no-deps", "--no-compile", "--find-links", str(wheels)]
    _run(*_PIP, "--python", str(python), "install", "-q", *offline, *wanted)
    (own,) = (directory / "venv" / "lib").glob("python*/site-packages")
    # What an editable installation adds to the path comes by PYTHONPATH.
    (own / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return python


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True, text=True, stdin=subprocess.DEVNULL)
