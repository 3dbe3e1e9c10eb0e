"""Error message for a start of Spark without Java, or with a Java that is too old."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from pyspark.errors import PySparkException

from acidsql.errors import AcidAnalysisError

_OLDEST = 17
_VERSION = re.compile(r'version "(?:1\.)?(\d+)')
_SECONDS = 30


@contextmanager
def java_needed(environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Raise a clear error if Spark, started in the block, finds no Java or one that is too old.

    Raises:
        AcidAnalysisError: JAVA_NEEDED.
    """
    try:
        yield
    except (PySparkException, FileNotFoundError) as error:
        is_gateway = "JAVA_GATEWAY_EXITED" in str(error) or isinstance(error, FileNotFoundError)
        version = java_version(environ) if is_gateway else _OLDEST
        if version is not None and version >= _OLDEST:
            raise
        actual = (
            "none was found" if version is None else f"the one that was found is Java {version}"
        )
        raise AcidAnalysisError(
            "JAVA_NEEDED",
            f"Spark needs Java {_OLDEST} or newer, and {actual}: install one, or set JAVA_HOME to "
            "its directory",
        ) from error


def java_version(environ: Mapping[str, str]) -> int | None:
    """Return the version of the Java that Spark would use; None if it finds no Java."""
    home = environ.get("JAVA_HOME")
    java = str(Path(home, "bin", "java")) if home else "java"
    try:
        answer = subprocess.run(
            [java, "-version"],
            capture_output=True,
            text=True,
            timeout=_SECONDS,
            env=dict(environ),
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = _VERSION.search(answer.stderr + answer.stdout)
    return None if match is None else int(match[1])
