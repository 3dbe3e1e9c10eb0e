"""Virtual environments for the releases of PySpark, created as in the project's scripts."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tpcds_bench.peers.client import ROOT

_SCRIPT = ROOT / "scripts" / "environment.sh"


class EnvironmentMissingError(RuntimeError):
    """Error of a virtual environment that could not be created."""


def environment_python(directory: Path, pyspark: str) -> Path:
    """Return the interpreter of an environment with a PySpark; create the environment if missing.

    Args:
        directory: directory of the environments.
        pyspark: release of PySpark.

    Raises:
        EnvironmentMissingError: the environment could not be created.
    """
    place = directory.resolve() / f"pyspark-{pyspark}"
    place.parent.mkdir(parents=True, exist_ok=True)
    command = 'source "$0"; require_java; environment_on_pyspark "$@"'
    made = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command, str(_SCRIPT), pyspark, str(place), "bench"],
        check=False,
    )
    if made.returncode != 0:
        raise EnvironmentMissingError(f"no environment with PySpark {pyspark} in {place}")
    return place / "bin" / "python"
