"""Jars that a Spark session needs for S3A, of the Hadoop release that PySpark brings."""

from __future__ import annotations

import re
import shutil
from functools import lru_cache, partial
from pathlib import Path

import pyspark

from tests.java_tools import prepared, run_tool

_HERE = Path(__file__).parent
_CLIENT = re.compile(r"hadoop-client-api-(\d+\.\d+\.\d+)\.jar")


def hadoop_version() -> str:
    """Return the release of Hadoop among PySpark's jars."""
    names = (path.name for path in (Path(pyspark.__file__).parent / "jars").iterdir())
    return next(found[1] for found in map(_CLIENT.fullmatch, names) if found)


@lru_cache(maxsize=1)
def class_path() -> str:
    """Return the jars, downloaded to Maven's local repository where missing.

    Raises:
        JavaSetupError: Maven could not provide them.
    """
    version = hadoop_version()
    sources = [(_HERE / "pom.xml").read_text(), version]
    place = prepared("s3", f"hadoop-{version}", sources, partial(_prepare, version))
    return (place / "class-path").read_text().strip()


def _prepare(version: str, work: Path) -> None:
    shutil.copy(_HERE / "pom.xml", work)
    # Hadoop's own jars are among PySpark's.
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    options = [f"-Dhadoop={version}", f"-Dmdep.outputFile={work}/class-path"]
    run_tool(["mvn", "-q", "-B", *goals, *options], work)
