"""Common code of tests that start Java servers: options, ports, and directories made once.

A server of the tests listens on loopback only, works in a home of its own and ends with the process
that started it.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import platformdirs

TOOLS = ("mvn", "java", "javac")
_DOWNLOAD_SECONDS = 1200
_OLD_SECONDS = 7 * 86_400
_OPENED = (
    "lang", "lang.reflect", "io", "math", "net", "nio", "text", "time", "util", "util.concurrent",
    "util.concurrent.atomic", "util.regex",
)  # fmt: skip
# Hive reaches into the JDK; its Derby need not survive a crash.
JAVA_OPTIONS = (
    *(f"--add-opens=java.base/java.{package}=ALL-UNNAMED" for package in _OPENED),
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--add-opens=java.sql/java.sql=ALL-UNNAMED",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Dderby.system.durability=test",
)


class JavaSetupError(Exception):
    """Error of a server whose installation could not be provided."""


def free_port() -> int:
    """Return an unused port on loopback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def prepared(kind: str, name: str, contents: Iterable[str], make: Callable[[Path], None]) -> Path:
    """Return a directory in the user's cache that is made once, and again when its sources change.

    Args:
        kind: directory of the cache.
        name: name of the contents.
        contents: texts from which it is made.
        make: fills an empty directory; if it raises, nothing is left behind.
    """
    digest = hashlib.sha256("\0".join(contents).encode()).hexdigest()[:12]
    root = Path(platformdirs.user_cache_dir("acidsql-tests")) / kind
    place = root / f"{name}-{digest}"
    root.mkdir(parents=True, exist_ok=True)
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            _remove_old(root.glob(f"{name}-*"))
            work = root / f"{name}-incomplete"
            shutil.rmtree(work, ignore_errors=True)  # of a process that was killed
            work.mkdir()
            try:
                make(work)
            except BaseException:
                shutil.rmtree(work)
                raise
            work.rename(place)
        os.utime(place)
    return place


def _remove_old(places: Iterable[Path]) -> None:
    """Remove what no checkout has used lately; two of them may have different sources."""
    for place in places:
        if place.stat().st_mtime < time.time() - _OLD_SECONDS:
            shutil.rmtree(place)


def stop(process: subprocess.Popen[Any], seconds: float) -> None:
    """Stop a program that ends with its input; kill it if that takes longer than ``seconds``."""
    if process.stdin is not None:
        process.stdin.close()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()


def run_tool(
    command: Sequence[str],
    work: Path,
    text: str = "",
    environment: Mapping[str, str] | None = None,
) -> str:
    """Run a program; what it says.

    Args:
        text: its input.
        environment: its variables; those of this process if None.

    Raises:
        JavaSetupError: it failed.
    """
    done = subprocess.run(
        command,
        cwd=work,
        env=environment,
        input=text,
        capture_output=True,
        text=True,
        timeout=_DOWNLOAD_SECONDS,
        check=False,
    )
    if done.returncode != 0:
        said = f"{done.stdout[-1000:]}{done.stderr[-1000:]}".strip()
        raise JavaSetupError(f"{command[0]} failed: {said}")
    return done.stdout
