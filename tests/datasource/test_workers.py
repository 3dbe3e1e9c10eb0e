"""Tests of the check of the workers' Python."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark import SparkFiles

from acidsql.datasource.workers import check_worker
from acidsql.errors import AcidAnalysisError


def session(python: Path | str, *sent: str) -> Any:
    """Return what the check asks of a session."""
    context = SimpleNamespace(pythonExec=str(python), _python_includes=list(sent))
    return cast("Any", SimpleNamespace(sparkContext=context))


def program(path: Path, text: str) -> Path:
    """Write a program in the place of a Python."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_python_that_has_the_packages_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    check_worker(session(sys.executable))
    check_worker(session(program(tmp_path / "same", f'exec {sys.executable} "$@"')))
    # As after addPyFile, from which workers import too.
    bare = program(tmp_path / "bare", f'exec {sys.executable} -S "$@"')
    for name in ("acidsql", "pyarrow", "numpy", "lark"):
        (tmp_path / "sent" / name).mkdir(parents=True)
        (tmp_path / "sent" / name / "__init__.py").touch()
    monkeypatch.setenv("PYTHONPATH", "")
    check_worker(session(bare, "sent"))


def test_a_python_without_them_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkFiles, "getRootDirectory", lambda: str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", "")
    monkeypatch.chdir(tmp_path)  # where no package lies
    for python, reason in (
        (program(tmp_path / "bare", f'exec {sys.executable} -S "$@"'), "does not have acidsql"),
        (program(tmp_path / "ill", "echo no library >&2; exit 3"), r"does not start \(no library"),
        (tmp_path / "gone", "is not there"),
    ):
        with pytest.raises(AcidAnalysisError, match=f"{python}, which {reason}") as caught:
            check_worker(session(python))
        assert caught.value.condition == "WORKER_WITHOUT_ACIDSQL"
        assert sys.executable in str(caught.value)
