"""HDFS whose name node and data node are processes of their own, to be killed and started again."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.hdfs.conftest import class_path
from tests.java_tools import JAVA_OPTIONS, JavaSetupError, free_port

_PACKAGE = "org.apache.hadoop.hdfs.server"
_MAINS = {
    "name node": f"{_PACKAGE}.namenode.NameNode",
    "data node": f"{_PACKAGE}.datanode.DataNode",
}
NODES = tuple(_MAINS)
_START_SECONDS = 240
_POLL_SECONDS = 0.5
_FORMAT_SECONDS = 120


@dataclass(slots=True, kw_only=True)
class Hdfs:
    """HDFS of one name node and one data node on loopback.

    Attributes:
        home: directory of everything that they write.
        jars: the class path.
        port: of the name node.
    """

    home: Path
    jars: str
    port: int
    processes: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    @property
    def uri(self) -> str:
        """Such as ``hdfs://localhost:43211``."""
        return f"hdfs://localhost:{self.port}"

    def format(self) -> None:
        """Make the directory of the name node."""
        done = subprocess.run(
            [*self._java(), _MAINS["name node"], "-format", "-nonInteractive"],
            cwd=self.home,
            capture_output=True,
            timeout=_FORMAT_SECONDS,
            check=False,
        )
        if done.returncode != 0:
            raise JavaSetupError(done.stderr.decode(errors="replace")[-2000:])

    def start(self, node: str) -> None:
        """Start a node, without waiting for it."""
        with (self.home / f"{node}.log").open("ab") as log:
            self.processes[node] = subprocess.Popen(
                [*self._java(), _MAINS[node]],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.home,
                env={**os.environ, "LC_ALL": "C.UTF-8"},
            )

    def kill(self, node: str) -> None:
        """End a node as ``kill -9`` does."""
        process = self.processes.pop(node)
        process.kill()
        process.wait()

    def wait(self, write: Callable[[str], object]) -> None:
        """Wait until files can be written, which takes both nodes and the end of safe mode.

        Args:
            write: writes a file; it fails as long as that is not possible.
        """
        deadline = time.monotonic() + _START_SECONDS
        for number in range(_START_SECONDS * 2):
            try:
                write(f"{self.uri}/ready/{time.time_ns()}-{number}")
            except Exception as error:
                if time.monotonic() > deadline:
                    raise JavaSetupError(f"HDFS did not start: {self._said()}") from error
                time.sleep(_POLL_SECONDS)
            else:
                return

    def _said(self) -> str:
        logs = self.home.glob("*.log")
        return "\n".join(log.read_text(errors="replace")[-2000:] for log in logs)

    def _java(self) -> list[str]:
        return ["java", *JAVA_OPTIONS, "-Xmx256m", "-cp", f"{self.home}:{self.jars}"]


@contextmanager
def running(home: Path) -> Iterator[Hdfs]:
    """Start an empty HDFS; yield it, perhaps before it is ready."""
    home.mkdir()
    hdfs = Hdfs(home=home, jars=class_path(home), port=free_port())
    (home / "hdfs-site.xml").write_text(_site(hdfs))
    hdfs.format()
    try:
        for node in NODES:
            hdfs.start(node)
        yield hdfs
    finally:
        for node in tuple(hdfs.processes):
            hdfs.kill(node)


def _site(hdfs: Hdfs) -> str:
    anywhere = "127.0.0.1:0"
    settings = {
        "fs.defaultFS": hdfs.uri,
        "dfs.namenode.name.dir": f"file:{hdfs.home}/name",
        "dfs.datanode.data.dir": f"file:{hdfs.home}/data",
        "dfs.namenode.http-address": anywhere,
        # The same port again, so that clients find the data node that they wrote to.
        "dfs.datanode.address": f"127.0.0.1:{free_port()}",
        "dfs.datanode.ipc.address": f"127.0.0.1:{free_port()}",
        "dfs.datanode.http.address": anywhere,
        "dfs.replication": "1",
        "dfs.permissions.enabled": "false",
        "dfs.heartbeat.interval": "1",
        # The name node counts a silent data node as dead after some seconds, not ten minutes.
        "dfs.namenode.heartbeat.recheck-interval": "1000",
        "dfs.namenode.safemode.extension": "0",
        "dfs.namenode.fs-limits.min-block-size": "4096",
        "hadoop.tmp.dir": f"{hdfs.home}/tmp",
    }
    properties = "".join(
        f"<property><name>{name}</name><value>{value}</value></property>\n"
        for name, value in settings.items()
    )
    return f"<configuration>\n{properties}</configuration>\n"
