"""A broker of Kafka on loopback, and the jars with which Spark reads from it, from Maven Central.

``python -m tests.kafka.broker`` runs one until it is interrupted.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from tests.java_tools import JavaSetupError, prepared, run_tool, stop

_HERE = Path(__file__).parent
_START_SECONDS = 120
_STOP_SECONDS = 30
_OPTIONS = ("-Xmx400m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
_OF_SPARK = ("spark-", "kafka-clients-", "commons-pool2-")


@lru_cache(maxsize=1)
def jars() -> tuple[str, ...]:
    """Return the paths of all jars, downloaded to Maven's local repository where missing.

    Raises:
        JavaSetupError: Maven could not provide them.
    """
    place = prepared("kafka", "kafka", [(_HERE / "pom.xml").read_text()], _prepare)
    return tuple((place / "class-path").read_text().strip().split(":"))


def spark_class_path() -> str:
    """Return the class path that a Spark session needs besides its own."""
    return ":".join(jar for jar in jars() if Path(jar).name.startswith(_OF_SPARK))


@contextmanager
def running() -> Iterator[str]:
    """Run a broker within the block; yield its address, such as ``localhost:43211``.

    Raises:
        JavaSetupError: it cannot be had, or does not start.
    """
    class_path = ":".join(jar for jar in jars() if not Path(jar).name.startswith("spark-"))
    with tempfile.TemporaryDirectory(prefix="kafka") as home:
        log = Path(home) / "log"
        command = [
            "java",
            *_OPTIONS,
            "-cp",
            class_path,
            str(_HERE / "MiniKafka.java"),
            home + "/data",
        ]
        with (
            log.open("wb") as output,
            subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=output, stderr=subprocess.STDOUT, cwd=home
            ) as process,
        ):
            try:
                yield _wait_for_address(process, log)
            finally:
                stop(process, _STOP_SECONDS)


def _prepare(work: Path) -> None:
    shutil.copy(_HERE / "pom.xml", work)
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    run_tool(["mvn", "-q", "-B", *goals, f"-Dmdep.outputFile={work}/class-path"], work)


def _wait_for_address(process: subprocess.Popen[bytes], log: Path) -> str:
    deadline = time.monotonic() + _START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        for line in log.read_text().splitlines():
            if line.startswith("kafka://"):
                return line.removeprefix("kafka://")
        time.sleep(0.1)
    raise JavaSetupError(f"Kafka did not start:\n{log.read_text()[-4000:]}")


if __name__ == "__main__":
    with running() as address:
        sys.stdout.write(f"{address}\n")
        sys.stdout.flush()
        threading.Event().wait()
