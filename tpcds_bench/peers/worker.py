"""Worker of one engine: ``python -m tpcds_bench.peers.worker delta --work DIRECTORY``.

It reads its tasks from standard input and answers on standard output.
"""

from __future__ import annotations

import os
import platform
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click
import pyspark

from tpcds_bench.day_work import COLUMNS, Size
from tpcds_bench.peers import day
from tpcds_bench.peers.anatomy import compiled
from tpcds_bench.peers.protocol import receive, send
from tpcds_bench.peers.registry import ENGINES
from tpcds_bench.peers.sources import sources_of
from tpcds_bench.peers.statements import Count, Insert
from tpcds_bench.peers.steps import cold_steps, steps
from tpcds_bench.product import FAILURES, CompactionError
from tpcds_bench.session import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tpcds_bench.peers.engine import Engine
    from tpcds_bench.peers.steps import Step


def brief(error: str) -> str:
    """Return the first line of an error, and the last cause of its chain.

    A JVM prints pages of stack traces in between.
    """
    lines = [line.strip() for line in error.splitlines() if line.strip()]
    said = [line for line in lines if not re.match(r"at [\w.$]+[.(]|\.\.\. \d+ more", line)]
    causes = [line for line in said if line.startswith("Caused by: ")]
    first = [line for line in said[:3] if line not in causes]
    return " ".join([*first, *causes[-1:]])


class Worker:
    """Worker that executes messages.

    Args:
        name: name of the engine.
        spark: session.
        work: directory for tables.
    """

    def __init__(self, name: str, spark: SparkSession, work: Path) -> None:
        self._type = ENGINES[name]
        self._spark = spark
        self._work = work
        self._engine: Engine | None = None
        self._steps: dict[str, Step] = {}
        self._actions: dict[str, Callable[[Mapping[str, Any]], Any]] = {
            "open": self._open,
            "create": lambda message: str(self.engine.create(message["table"])),
            "reopen": lambda message: self.engine.reopen(message["table"], Path(message["root"])),
            "fill": self._fill,
            "count": lambda message: self.engine.run(Count(table=message["table"])),
            "run": lambda message: self.engine.run(self._steps[message["step"]].statement),
            "checksum": lambda message: self.engine.checksum(message["table"]),
            "compiled": lambda _: asdict(compiled(self._spark)),
            "day": self._day,
        }

    @property
    def engine(self) -> Engine:
        """The engine; sources must have been opened."""
        if self._engine is None:
            raise RuntimeError("the first message must be 'open'")
        return self._engine

    def answer(self, message: Mapping[str, Any]) -> dict[str, Any]:
        """Execute a message; return the answer."""
        try:
            return {"value": self._actions[message["do"]](message)}
        except (*FAILURES, CompactionError) as err:
            return {"error": brief(f"{type(err).__name__}: {err}")}

    def _open(self, message: Mapping[str, Any]) -> None:
        sources = sources_of(message["sources"])
        for name, path in sources.views.items():
            self._spark.read.parquet(path).createOrReplaceTempView(name)
        every = (*steps(sources.keys), *cold_steps(sources.keys))
        self._steps = {step.name: step for step in every}
        if self._engine is None:
            self._engine = self._type(self._spark, self._work, sources.columns)

    def _day(self, message: Mapping[str, Any]) -> dict[str, Any]:
        self._spark.conf.set("spark.acidsql.compaction.auto", "on")
        engine = self._type(self._spark, self._work, COLUMNS)
        return asdict(day.run(engine, Size(**message["size"])))

    def _fill(self, message: Mapping[str, Any]) -> None:
        self.engine.change(Insert(table=message["table"], source=message["source"]))


@click.command()
@click.argument("name", type=click.Choice(tuple(ENGINES)))
@click.option("--work", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--driver-memory", required=True)
def main(name: str, work: Path, driver_memory: str) -> None:
    """Serve one engine until standard input ends."""
    with _answers() as answers:
        engine = ENGINES[name]
        settings = dict(engine.settings)
        if engine.package is not None:
            settings["spark.jars.packages"] = engine.package
            # A local Maven repository may contain the description of a jar but not the jar. Spark
            # would not look for the jar elsewhere, so the environment has a separate cache.
            settings["spark.driver.extraJavaOptions"] = f"-Duser.home={sys.prefix}"
        with spark_session(work, driver_memory=driver_memory, settings=settings) as spark:
            worker = Worker(name, spark, work)
            versions = {"pyspark": pyspark.__version__, "python": platform.python_version()}
            send(answers, {"value": versions})
            while (message := receive(sys.stdin)) is not None:
                send(answers, worker.answer(message))


def _answers() -> IO[str]:
    """Reserve standard output for answers, and send the JVM's output to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    return answers


if __name__ == "__main__":
    main()
