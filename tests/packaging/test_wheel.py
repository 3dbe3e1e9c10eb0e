"""Tests of the wheel alone, in an environment that has nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.packaging

_ROOT = Path(__file__).parents[2]
_INSTALL_SECONDS = 900
_STATEMENT_SECONDS = 300
_STATEMENTS = """
CREATE TABLE pets (id INT, name STRING) STORED AS ORC TBLPROPERTIES ('transactional'='true');
INSERT INTO pets VALUES (1, 'Rex'), (2, 'Tom');
UPDATE pets SET name = 'Felix' WHERE id = 2;
SELECT id, name FROM pets ORDER BY id;
"""


@pytest.fixture(scope="module")
def distributions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the source distribution, and the wheel from it; the directory they are in."""
    directory = tmp_path_factory.mktemp("dist")
    _run([sys.executable, "-m", "build", "--outdir", str(directory), str(_ROOT)], _INSTALL_SECONDS)
    return directory


@pytest.fixture(scope="module")
def installed(distributions: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel in an empty virtual environment; the directory of its scripts."""
    venv = tmp_path_factory.mktemp("empty") / "venv"
    _run([sys.executable, "-m", "venv", str(venv)], _INSTALL_SECONDS)
    (wheel,) = distributions.glob("*.whl")
    _run([str(venv / "bin/python"), "-m", "pip", "install", "-q", str(wheel)], _INSTALL_SECONDS)
    return venv / "bin"


def test_wheel_holds_the_grammar_and_the_shell_s_files(distributions: Path) -> None:
    (wheel,) = distributions.glob("*.whl")
    names = set(zipfile.ZipFile(wheel).namelist())
    grammars = {f"acidsql/grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")}
    assert grammars
    assert grammars <= names
    assert "acidsql/repl/log4j2.properties" in names
    tops = {name.split("/")[0] for name in names}
    assert tops == {"acidsql", "acidsql-0.1.0.dist-info"}


def test_source_distribution_holds_grammar_tests_and_licence(distributions: Path) -> None:
    (source,) = distributions.glob("*.tar.gz")
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"grammar/{path.name}" for path in (_ROOT / "grammar").glob("*.lark")} <= names
    assert {"LICENSE", "README.md", "pyproject.toml", "tests/packaging/test_wheel.py"} <= names
    assert not [name for name in names if name.startswith((".venv", "target", ".git/"))]


def test_installed_command_changes_a_table(installed: Path, tmp_path: Path) -> None:
    answer = _run(
        [
            str(installed / "acidsql"),
            *("--master", "local[2]", "--warehouse", "warehouse"),
            *("--format", "csv", "-e", _STATEMENTS),
        ],
        _STATEMENT_SECONDS,
        cwd=tmp_path,
    )
    assert answer.splitlines()[-3:] == ["id,name", "1,Rex", "2,Felix"]
    assert list((tmp_path / "warehouse").glob("pets/delete_delta_0000002_0000002_0000/bucket_*"))


def _run(command: list[str], seconds: int, cwd: Path | None = None) -> str:
    """Run a command outside this environment's import path; its standard output."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PYSPARK"))}
    done = subprocess.run(
        command,
        cwd=cwd,
        env=inherited,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}"
    return done.stdout
