"""HDFS for the tests marked ``hdfs``, from Maven Central."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.java_tools import stop
from tests.requirements import require_tools, unavailable

_HERE = Path(__file__).parent
_DOWNLOAD_SECONDS = 600
_START_SECONDS = 120
_STOP_SECONDS = 30


class Hdfs(NamedTuple):
    """HDFS that runs.

    Attributes:
        web: address of its REST interface, such as ``http://localhost:43212``.
        uri: such as ``hdfs://localhost:43211``.
    """

    web: str
    uri: str


@pytest.fixture(scope="session")
def hdfs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hdfs]:
    """Start an HDFS on loopback."""
    require_tools("mvn", "java")
    directory = tmp_path_factory.mktemp("hdfs")
    log = directory / "log"
    command = ["java", "-Xmx512m", "-cp", class_path(directory), str(_HERE / "MiniHdfs.java")]
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [*command, str(directory / "data")],
            stdin=subprocess.PIPE,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=directory,
        ) as process,
    ):
        try:
            yield _wait_for_start(process, log)
        finally:
            stop(process, _STOP_SECONDS)


@pytest.fixture
def hdfs_uri(hdfs: Hdfs) -> str:
    """URI of an HDFS on loopback."""
    return hdfs.uri


@pytest.fixture
def hdfs_spark(hdfs_uri: str, spark: SparkSession) -> SparkSession:
    """Make the shared session a client of ``hdfs_uri``, which has one data node."""
    del hdfs_uri  # it must run before its client
    # With more replicas than data nodes an append looks for another data node and fails.
    spark.sparkContext._jsc.hadoopConfiguration().set("dfs.replication", "1")
    return spark


def class_path(directory: Path) -> str:
    """Return the jars of the launcher, downloaded to Maven's local repository where missing."""
    shutil.copy(_HERE / "pom.xml", directory)
    target = directory / "class-path"
    maven = subprocess.run(
        ["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={target}"],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=_DOWNLOAD_SECONDS,
        check=False,
    )
    if maven.returncode != 0:
        unavailable(f"Maven could not provide Hadoop: {maven.stdout.strip()[:400]}")
    return target.read_text()


def _wait_for_start(process: subprocess.Popen[bytes], log: Path) -> Hdfs:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        said = log.read_text().splitlines()
        found = [
            line for start in ("http://", "hdfs://") for line in said if line.startswith(start)
        ]
        if len(found) == 2:
            return Hdfs(*found)
        time.sleep(0.1)
    pytest.fail(f"HDFS did not start:\n{log.read_text()[-4000:]}")
