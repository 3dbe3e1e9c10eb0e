"""Processes that are killed: a warm process without a connection forks one for each shot.

It reads shots as lines of JSON from its input. It reports when each was started, when its statement
begins, and how it ended. A shot attaches to a JVM that others keep, or starts its own.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

import acidsql
from acidsql import bridge, limits
from acidsql.session.acid_session import AcidSession
from acidsql.syntax import parse
from tests.faults.kill_model import CLEANER, NEXT
from tests.faults.kill_steps import Steps, installed

PYTHON, JVM, BOTH = "Python", "JVM", "both"
SPARK = {
    "spark.master": "local[2]",
    "spark.app.name": "acidsql-kills",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # These queries are too small for a program of their own.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shot:
    """What a worker does, and when it ends.

    Attributes:
        metastore: the SQLite file.
        warehouse: of an own JVM.
        text: the statement.
        before: statements that run before it.
        by_jobs: whether Spark jobs write everything.
        kills: what is killed: ``PYTHON``, ``JVM`` or ``BOTH``.
        step: at which; None if the process is killed from outside, or not at all.
        number: of the occurrence of the step.
        gateway: port and secret of a JVM; None for a JVM of its own.
        log: file for errors.
        result: file that gets the counts of the steps, if the statement comes to its end.
        jvm_pid: file that gets the id of its own JVM.
        settings: of its own JVM.
        least_part: size from which on S3 copies parts of files; None for Amazon's.
    """

    metastore: str
    warehouse: str
    text: str
    before: tuple[str, ...]
    by_jobs: bool
    kills: str
    step: str | None
    number: int
    gateway: tuple[int, str] | None
    log: str
    result: str
    jvm_pid: str
    settings: Mapping[str, str] = field(default_factory=dict)
    least_part: int | None = None

    def line(self) -> str:
        """Return it as a line of JSON."""
        return json.dumps(asdict(self)) + "\n"


def serve() -> None:
    """Fork a process for each line of the input."""
    # The grammar is loaded once, not by each process.
    parse("DELETE FROM t")
    print("ready", flush=True)
    for line in sys.stdin:
        shot = Shot(**json.loads(line))
        pid = os.fork()
        if pid == 0:
            _end(shot)
        _, status = os.waitpid(pid, 0)
        print(f"ended {os.waitstatus_to_exitcode(status)}", flush=True)


def _end(shot: Shot) -> None:
    """Do a shot in a process of its own, which it ends."""
    os.setpgid(0, 0)  # an own JVM is in its group
    log = os.open(shot.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 2)
    status = 1
    try:
        run(shot, tell=lambda text: print(text, flush=True))
        status = 0
    except BaseException:  # noqa: BLE001 - nothing may go on in a copy of the warm process
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def run(shot: Shot, tell: Callable[[str], None]) -> None:
    """Run a statement; be killed at its step, if it has one."""
    spark = attached(*shot.gateway) if shot.gateway else _own_jvm(shot)
    spark.conf.set("spark.acidsql.metastore", shot.metastore)
    spark.conf.set("spark.acidsql.synchronous", "off")  # what a kill leaves is in memory
    if shot.least_part is not None:
        bridge.s3.LEAST_PART = shot.least_part
    if shot.by_jobs:
        limits._LIMITS = replace(
            limits.limits(), driver_rows=0, driver_events=0, compaction_events=0
        )
    session = AcidSession.of(spark)
    held = [acidsql.table(spark, _table_of(text)) for text in shot.before]
    for text in shot.before:
        acidsql.sql(spark, text)
    held.clear()
    acidsql.release(spark)
    jvm_pid = int(Path(shot.jvm_pid).read_text()) if shot.kills != PYTHON else 0

    def strike() -> None:
        if shot.kills != PYTHON:
            os.kill(jvm_pid, signal.SIGKILL)
            Path(shot.result).write_text("struck")
        if shot.kills != JVM:
            os.kill(os.getpid(), signal.SIGKILL)

    steps = Steps(shot.step, shot.number, strike)
    with installed(steps):
        tell(f"begins {os.getpid()}")
        steps.armed = True
        began = time.monotonic()
        execute(spark, shot.text)
        steps.reach("returned")
        took = time.monotonic() - began
        steps.armed = False
    if shot.kills == PYTHON:
        Path(shot.result).write_text(json.dumps({"steps": steps.counts, "took": took}))
    session.close()


def execute(spark: SparkSession, text: str) -> None:
    """Run a statement, those of a transaction, or the cleaner."""
    if text == CLEANER:
        acidsql.run_cleaner(spark)
        return
    for statement in text.split(NEXT):
        acidsql.sql(spark, statement)


def _table_of(compaction: str) -> str:
    return compaction.split()[2]


def attached(port: int, secret: str) -> SparkSession:
    """Return a new session in the JVM of another process."""
    os.environ["PYSPARK_GATEWAY_PORT"] = str(port)
    os.environ["PYSPARK_GATEWAY_SECRET"] = secret
    SparkContext._ensure_initialized()
    jvm: Any = SparkContext._jvm
    java_context = jvm.org.apache.spark.SparkContext.getOrCreate()
    context = SparkContext(
        gateway=SparkContext._gateway,
        jsc=jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(java_context),
    )
    return SparkSession(context).newSession()


def _own_jvm(shot: Shot) -> SparkSession:
    builder = SparkSession.builder.config(map=SPARK | dict(shot.settings))
    spark = builder.config("spark.sql.warehouse.dir", shot.warehouse).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    Path(shot.jvm_pid).write_text(str(spark.sparkContext._gateway.proc.pid))
    return spark


if __name__ == "__main__":
    serve()
