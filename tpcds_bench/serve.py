"""Cost of a statement through ``acidsql serve``, Spark's server, and ``acidsql.sql``.

Servers run in separate processes, and so does the client of Spark Connect. PyHive, the client of
the Thrift server, and ``acidsql.sql`` run in this process.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyspark

import acidsql
from tpcds_bench.report import Section
from tpcds_bench.session import SETTINGS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_START_SECONDS = 180
_ROWS = 10_000
_PROGRAM = "from acidsql.repl.main import main; main()"
_SPARKS_SERVER = "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2"
_CONNECT_SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
# Program that collects the statement in each line of JSON, and answers with an empty line.
_CONNECT_CLIENT = """
import json, sys
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(sys.argv[1]).create()
for line in sys.stdin:
    spark.sql(json.loads(line)).collect()
    print(flush=True)
"""
_FLAT = f"CREATE TABLE flat USING orc AS SELECT id, id % 10 AS v FROM range({_ROWS})"
_ACID = (
    "CREATE TABLE acid (id BIGINT, v BIGINT) STORED AS ORC TBLPROPERTIES ('transactional' = 'true')"
)
_FILL = f"INSERT INTO acid SELECT id, id % 10 FROM range({_ROWS})"

Run = Callable[[str], object]
Client = Callable[[int], AbstractContextManager[Run]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """Measured statement.

    Attributes:
        of_acid: whether the statement needs acidsql.
    """

    text: str
    of_acid: bool = False


STATEMENTS = (
    Statement(text="SELECT 1"),
    Statement(text="SHOW TABLES"),
    Statement(text="SELECT count(*), max(v) FROM flat"),
    Statement(text="SELECT count(*), max(v) FROM acid", of_acid=True),
    Statement(text="UPDATE acid SET v = v + 1 WHERE id = 7", of_acid=True),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Median milliseconds of a statement for each runner."""

    text: str
    milliseconds: Mapping[str, float]

    def ratio(self, runner: str, of: str) -> float | None:
        """Return the time of one runner, divided by the time of another; None if one is missing."""
        if runner not in self.milliseconds or of not in self.milliseconds:
            return None
        return round(self.milliseconds[runner] / self.milliseconds[of], 2)


def run(
    spark: SparkSession, work: Path, *, rounds: int, connect: bool = False, warm_up: int = 10
) -> list[Cost]:
    """Measure every statement with all runners in turns.

    Args:
        spark: session of this process.
        work: empty directory.
        rounds: rounds that are counted.
        connect: whether the servers use Spark Connect; otherwise they use Hive's protocol.
        warm_up: warm-up rounds before these.
    """
    with ExitStack() as stack:
        sparks, ours = (
            (_sparks_connect_server, _acidsql_serve_connect)
            if connect
            else (_sparks_server, _acidsql_serve)
        )
        runners: dict[str, Run] = {
            "spark.sql": lambda text: spark.sql(text).collect(),
            "acidsql.sql": lambda text: acidsql.sql(spark, text).collect(),
            "Spark's server": stack.enter_context(sparks(work / "spark")),
            "acidsql serve": stack.enter_context(ours(work / "acidsql")),
        }
        for runner, execute in runners.items():
            if runner != "acidsql.sql":  # it uses the session of spark.sql
                execute(_FLAT)
            if _is_ours(runner):
                execute(_ACID)
                execute(_FILL)
        return [_cost(statement, runners, rounds, warm_up) for statement in STATEMENTS]


def _is_ours(runner: str) -> bool:
    return runner.startswith("acidsql")


def _cost(statement: Statement, runners: Mapping[str, Run], rounds: int, warm_up: int) -> Cost:
    chosen = {
        runner: run for runner, run in runners.items() if _is_ours(runner) or not statement.of_acid
    }
    taken: dict[str, list[float]] = {runner: [] for runner in chosen}
    for number in range(warm_up + rounds):
        for runner, execute in chosen.items():
            begun = time.perf_counter()
            execute(statement.text)
            if number >= warm_up:
                taken[runner].append((time.perf_counter() - begun) * 1000)
    medians = {runner: statistics.median(times) for runner, times in taken.items()}
    return Cost(text=statement.text, milliseconds=medians)


@contextmanager
def _acidsql_serve(home: Path) -> Iterator[Run]:
    port = _free_port()
    with _running(_ours(home, port), home, port, _hive_client) as execute:
        yield execute


@contextmanager
def _acidsql_serve_connect(home: Path) -> Iterator[Run]:
    port = _free_port()
    with _running([*_ours(home, port), "--connect"], home, port, _connect_client) as execute:
        yield execute


def _ours(home: Path, port: int) -> list[str]:
    command = [sys.executable, "-c", _PROGRAM, "serve", "--auth", "none", "--port", str(port)]
    options = ["--master", "local[2]", "--warehouse", str(home / "warehouse")]
    return [*command, *options, *_conf()]


@contextmanager
def _sparks_server(home: Path) -> Iterator[Run]:
    port = _free_port()
    hive = ["--hiveconf", f"hive.server2.thrift.port={port}"]
    command = [*_sparks(home, _SPARKS_SERVER), "spark-internal", *hive]
    with _running(command, home, port, _hive_client) as execute:
        yield execute


@contextmanager
def _sparks_connect_server(home: Path) -> Iterator[Run]:
    port = _free_port()
    place = ["--conf", f"spark.connect.grpc.binding.port={port}"]
    command = [*_sparks(home, _CONNECT_SERVER), *place, "spark-internal"]
    with _running(command, home, port, _connect_client) as execute:
        yield execute


def _sparks(home: Path, server: str) -> list[str]:
    submit = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    command = [str(submit), "--class", server, "--master", "local[2]"]
    options = ["--conf", f"spark.sql.warehouse.dir={home / 'warehouse'}"]
    return [*command, *options, *_conf(), "--conf", "spark.sql.catalogImplementation=in-memory"]


def _conf() -> list[str]:
    return [word for key, value in SETTINGS.items() for word in ("--conf", f"{key}={value}")]


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def _running(command: Sequence[str], home: Path, port: int, client: Client) -> Iterator[Run]:
    """Run a server within the block, and yield a function that runs a statement on it."""
    home.mkdir(parents=True)
    with (
        (home / "log").open("wb") as log,
        subprocess.Popen(
            command,
            cwd=home,
            stdout=log,
            stderr=log,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        ) as process,
    ):
        try:
            _wait_for(process, port)
            with client(port) as execute:
                yield execute
        finally:
            process.terminate()


def _wait_for(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError(f"{process.args!r} does not listen: see its log")
        time.sleep(0.2)


@contextmanager
def _hive_client(port: int) -> Iterator[Run]:
    from pyhive import hive  # noqa: PLC0415 - the other suites do not need it

    with contextlib.closing(
        hive.connect(host="127.0.0.1", port=port, username="bench", auth="NONE")
    ) as connection:
        yield lambda text: _executed(connection, text)


@contextmanager
def _connect_client(port: int) -> Iterator[Run]:
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", _CONNECT_CLIENT, f"sc://127.0.0.1:{port}"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield lambda text: _collected(process, text)
        finally:
            process.terminate()


def _collected(process: subprocess.Popen[str], text: str) -> None:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the client has no pipes")
    process.stdin.write(json.dumps(text) + "\n")
    process.stdin.flush()
    if not process.stdout.readline():
        raise RuntimeError(f"the client of Spark Connect failed at {text}")


def _executed(connection: Any, text: str) -> object:
    with contextlib.closing(connection.cursor()) as cursor:
        cursor.execute(text)
        # For a Spark statement without columns, the server returns a column without rows.
        return cursor.fetchall()


def sections(costs: Sequence[Cost]) -> list[Section]:
    """Return the report."""
    runners = ("spark.sql", "acidsql.sql", "Spark's server", "acidsql serve")
    rows = [
        (
            cost.text,
            *(
                round(cost.milliseconds[runner], 1) if runner in cost.milliseconds else None
                for runner in runners
            ),
            cost.ratio("acidsql serve", "Spark's server"),
            cost.ratio("acidsql serve", "acidsql.sql"),
        )
        for cost in costs
    ]
    return [
        Section(
            title="Statements by a server",
            text=f"Medians in milliseconds; tables of {_ROWS:,} rows. Spark by itself cannot "
            "run what is about ACID tables.",
            headers=("statement", *runners, "of Spark's server", "of acidsql.sql"),
            rows=rows,
        )
    ]
