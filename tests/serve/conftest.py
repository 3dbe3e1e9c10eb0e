"""A server of the tests, ``acidsql serve``, in a process and a directory of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.requirements import require_tools
from tests.serve.jdbc import Driver, JdbcConnection, driver

_COMMAND = [sys.executable, "-c", "from acidsql.repl.main import main; main()", "serve"]
_SECONDS = 180
_LISTENING = "listening on 127.0.0.1:"


@contextmanager
def serving(
    home: Path, auth: str, settings: Mapping[str, str], *options: str, token: str = ""
) -> Iterator[int]:
    """Run a server within the block; yield its port.

    Args:
        options: further ones of the command.
        token: that clients of Spark Connect must give.
    """
    conf = {
        "spark.acidsql.compaction.auto": "off",
        "spark.driver.memory": "1g",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.extraJavaOptions": f"-Dderby.system.home={home}",
        **settings,
    }
    given = [word for item in conf.items() for word in ("--conf", "=".join(item))]
    place = ["--master", "local[2]", "--warehouse", str(home / "warehouse"), "--port", "0"]
    log = home / "log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [*_COMMAND, "--auth", auth, *place, *given, *options],
            cwd=home,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={
                **os.environ,
                "HIVE_SERVER2_THRIFT_BIND_HOST": "0.0.0.0",  # the server's options win
                "SPARK_CONNECT_AUTHENTICATE_TOKEN": token,
            },
        ) as process,
    ):
        assert process.stdout is not None
        said = process.stdout.readline()
        assert said.startswith(_LISTENING), log.read_text()
        try:
            yield int(said.removeprefix(_LISTENING))
        finally:
            process.send_signal(signal.SIGTERM)
            assert process.wait(_SECONDS) == 0, log.read_text()


@pytest.fixture(scope="session")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Yield the port of a server that lets in everybody."""
    require_tools("java")
    with serving(tmp_path_factory.mktemp("serve"), "none", {}) as found:
        yield found


@pytest.fixture(scope="session")
def jdbc() -> Iterator[Driver]:
    """Yield Hive's JDBC driver."""
    with driver() as found:
        yield found


@pytest.fixture
def client(port: int, jdbc: Driver) -> Iterator[JdbcConnection]:
    """Yield a connection."""
    connection = jdbc.connect(url(port), "somebody")
    yield connection
    connection.close()


def url(port: int, database: str = "default", more: str = "") -> str:
    """Return the address of a server for the driver."""
    return f"jdbc:hive2://127.0.0.1:{port}/{database}{more}"
