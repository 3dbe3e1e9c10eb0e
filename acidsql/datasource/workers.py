"""Check of the workers' Python, where Spark runs ``format("acidsql")``."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

from pyspark import SparkFiles
from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError

_PACKAGES = ("acidsql", "pyarrow", "numpy", "lark")
_LACKING = (
    "import sys, importlib.util as u; print(*(n for n in sys.argv[1:] if not u.find_spec(n)))"
)
# A Python that takes longer to start would be too slow for a query too.
_START_SECONDS = 60


def check_worker(spark: SparkSession) -> None:
    """Check that the Python of Spark's workers has acidsql, unless it is the Python of the driver.

    Spark plans reads and writes of the source with this Python on the driver's machine.

    Raises:
        AcidAnalysisError: WORKER_WITHOUT_ACIDSQL.
    """
    context = spark.sparkContext
    worker = context.pythonExec
    # Workers import from the files of ``spark.submit.pyFiles`` and ``addPyFile``.
    sent = tuple(
        str(Path(SparkFiles.getRootDirectory()) / name) for name in context._python_includes
    )
    problem = _problem(worker, sent)
    if problem is not None:
        raise AcidAnalysisError(
            "WORKER_WITHOUT_ACIDSQL",
            f"Spark's workers run {worker}, {problem}: set PYSPARK_PYTHON or spark.pyspark.python "
            f"before the session starts, such as to {sys.executable}, or install acidsql there",
        )


@lru_cache(maxsize=16)
def _problem(worker: str, sent: tuple[str, ...]) -> str | None:
    """Return the problem of a worker's Python; None if there is no problem."""
    path = shutil.which(worker)
    if path is None:
        return "which is not there"
    if Path(path).absolute() == Path(sys.executable).absolute():
        return None
    paths = [*sent, *filter(None, [os.environ.get("PYTHONPATH")])]
    try:
        done = subprocess.run(
            [path, "-c", _LACKING, *_PACKAGES],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
            capture_output=True,
            text=True,
            check=False,
            timeout=_START_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"which does not start ({error})"
    if done.returncode:
        lines = done.stderr.strip().splitlines()
        return f"which does not start ({lines[-1] if lines else done.returncode})"
    lacking = done.stdout.split()
    return f"which does not have {', '.join(lacking)}" if lacking else None
