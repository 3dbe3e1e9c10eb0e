"""What is said where Spark finds no Java that it runs on."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import PySparkRuntimeError

from acidsql.errors import AcidAnalysisError
from acidsql.session.java import java_needed


def environment(home: Path, version: str | None) -> dict[str, str]:
    """Return the variables of a system whose Java says that it is of some version."""
    java = home / "bin" / "java"
    if version is not None:
        java.parent.mkdir(parents=True)
        java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2020-01-01' >&2\n")
        java.chmod(0o755)
    return {"JAVA_HOME": str(home)}


def failure() -> PySparkRuntimeError:
    return PySparkRuntimeError("[JAVA_GATEWAY_EXITED] Java gateway process exited")


@pytest.mark.parametrize(
    ("version", "found"),
    [
        (None, "none was found"),
        ("1.8.0_402", "the one that was found is Java 8"),
        ("11.0.2", "the one that was found is Java 11"),
    ],
)
def test_java_is_missing_or_too_old(tmp_path: Path, version: str | None, found: str) -> None:
    with (
        pytest.raises(AcidAnalysisError) as raised,
        java_needed(environment(tmp_path, version)),
    ):
        raise failure()
    assert str(raised.value) == (
        f"[JAVA_NEEDED] Spark needs Java 17 or newer, and {found}: install one, or set JAVA_HOME "
        "to its directory"
    )


def test_other_failures_stay(tmp_path: Path) -> None:
    with pytest.raises(PySparkRuntimeError), java_needed(environment(tmp_path, "17.0.1")):
        raise failure()
    with pytest.raises(ZeroDivisionError), java_needed({}):
        raise ZeroDivisionError
