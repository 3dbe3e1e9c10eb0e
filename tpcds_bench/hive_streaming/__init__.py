"""Hive's streaming client, ``HiveStreamingConnection``, in a separate JVM.

This needs Maven and a JDK; Maven fetches Hive.
"""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

_HERE = Path(__file__).parent
_OPENED = ("lang", "net", "nio", "util", "util.concurrent")  # packages of the JDK
_SECONDS = 3600


class HiveStreamingError(Exception):
    """Maven or Hive's client failed."""


def class_path(work: Path) -> str:
    """Return the class path of Hive's client.

    Args:
        work: directory for Maven.

    Raises:
        HiveStreamingError: Maven is missing, or it could not fetch the client.
    """
    shutil.copy(_HERE / "pom.xml", work)
    target = work / "class-path"
    _run(["mvn", "-q", "-B", "dependency:build-classpath", f"-Dmdep.outputFile={target}"], work)
    return target.read_text().strip()


def ingest(
    *,
    classes: str,
    metastore: str,
    table: str,
    records: Path,
    rows: int,
    transactions: int,
    batch: int,
    rounds: int,
) -> tuple[tuple[float, ...], int]:
    """Write records to a table in several rounds.

    Args:
        classes: the class path.
        metastore: URI of the metastore.
        table: table in the database ``default``.
        records: file of lines with comma-separated fields.
        rows: rows of a transaction.
        transactions: transactions of a round.
        batch: number of transactions that are opened together.
        rounds: number of rounds.

    Returns:
        The seconds of each round, and the peak resident size of the process in bytes.

    Raises:
        HiveStreamingError: the client failed.
    """
    opened = [f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED]
    source = _HERE / "HiveStreamingIngest.java"
    arguments = [metastore, table, str(records), *map(str, (rows, transactions, batch, rounds))]
    said = _run(["java", *opened, "-cp", classes, str(source), *arguments], records.parent)
    *seconds, memory = said.split()
    return tuple(map(float, seconds)), 1024 * int(memory)


def _run(command: list[str], work: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=work, capture_output=True, text=True, timeout=_SECONDS, check=False
        )
    except OSError as error:
        raise HiveStreamingError(f"{command[0]} cannot be run: {error}") from error
    if done.returncode != 0:
        raise HiveStreamingError(f"{command[0]} failed: {done.stdout[-1000:]}{done.stderr[-2000:]}")
    return done.stdout
