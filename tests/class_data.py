"""Archive of the classes of Spark, by which the JVMs of the tests start at half the cost.

The archive is Java's (class data sharing). It is made once for each virtual environment, inside
it, by a short program; a JVM with another class path ignores it.
"""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pyspark

# Spark makes a program of its own for nearly every small query; the optimizing compiler would take
# a third of all processor time for nothing.
_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m"
_ARCHIVE = Path(sys.prefix) / f"spark-classes-{pyspark.__version__}.jsa"
_SECONDS = 300


def use_archive() -> None:
    """Have the JVMs of this process and its children use the archive, which is made if need be.

    Options that the environment gives by itself are left as they are.
    """
    if os.environ.get("SPARK_SUBMIT_OPTS", _OPTIONS).startswith(_OPTIONS):
        make_archive()
        os.environ["SPARK_SUBMIT_OPTS"] = java_options()


def java_options() -> str:
    """Return the options of the JVMs of Spark; with the archive if there is one."""
    if not _ARCHIVE.exists():
        return _OPTIONS
    return f"{_OPTIONS} -XX:SharedArchiveFile={_ARCHIVE} -Xshare:auto -Xlog:cds=off -Xlog:cds*=off"


def make_archive() -> None:
    """Make the archive unless it is there, or another process has just made it."""
    with _ARCHIVE.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if _ARCHIVE.exists():
            return
        unfinished = _ARCHIVE.with_suffix(".unfinished")
        subprocess.run(
            [sys.executable, "-m", "tests.class_data_program"],
            check=True,
            cwd=Path(__file__).parents[1],
            env={
                **os.environ,
                "SPARK_SUBMIT_OPTS": f"{_OPTIONS} -XX:ArchiveClassesAtExit={unfinished}"
                " -Xlog:cds=off -Xlog:cds*=off",
            },
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=_SECONDS,
        )
        unfinished.rename(_ARCHIVE)
