"""Command that asks a real Hive and a real Trino again for the recorded answers.

    python -m tests.dialects.record hive trino

Java 17 and Maven are needed; a few minutes for each engine.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from tests.dialects import answers, relation
from tests.hive.hive import HiveError
from tests.hive.hive import running as running_hive
from tests.java_tools import JAVA_OPTIONS, prepared, run_tool

_TRINO = Path(__file__).parent / "trino"


class _Run(Protocol):
    def __call__(self, sql: str, /) -> list[tuple[Any, ...]] | None:
        """Return the rows of a query, None if it is refused."""


@contextmanager
def _hive() -> Iterator[_Run]:
    with tempfile.TemporaryDirectory() as home, running_hive(Path(home) / "home") as hive:

        def run(sql: str) -> list[tuple[Any, ...]] | None:
            try:
                return hive.run(sql)
            except HiveError:
                return None

        for statement in relation.create_in_hive():
            hive.run(statement)
        yield run


@contextmanager
def _trino() -> Iterator[_Run]:
    sources = [path.read_text() for path in sorted(_TRINO.iterdir())]
    place = prepared("trino", "405", sources, _prepare_trino)
    class_path = f"{place / 'classes'}:{(place / 'class-path').read_text().strip()}"
    with subprocess.Popen(
        ["java", *JAVA_OPTIONS, "-Xmx2g", "-cp", class_path, "TrinoAnswers"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
    ) as process:

        def run(sql: str) -> list[tuple[Any, ...]] | None:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(f"{json.dumps(f'{relation.with_of_trino()} {sql}')}\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
            return None if "error" in answer else answer

        yield run
        assert process.stdin is not None
        process.stdin.close()  # it ends with its input


def _prepare_trino(work: Path) -> None:
    """Fetch what Trino runs on, and compile what asks it."""
    shutil.copy(_TRINO / "pom.xml", work)
    goals = ["dependency:build-classpath", "-DincludeScope=runtime"]
    run_tool(["mvn", "-q", "-B", *goals, f"-Dmdep.outputFile={work}/class-path"], work)
    class_path = (work / "class-path").read_text().strip()
    options = ["-nowarn", "-proc:none", "-d", str(work / "classes"), "-cp", class_path]
    run_tool(["javac", *options, str(_TRINO / "TrinoAnswers.java")], work)


_ENGINES = {"hive": _hive, "trino": _trino}


def record(dialect: str) -> None:
    """Ask an engine for all its answers."""
    with _ENGINES[dialect]() as run:
        found = [
            replace(answer, rows=None if rows is None else tuple(map(tuple, rows)))
            for answer in answers.read(dialect)
            for rows in [run(answer.statement)]
        ]
    answers.write(dialect, found)


if __name__ == "__main__":
    for name in sys.argv[1:] or list(_ENGINES):
        record(name)
