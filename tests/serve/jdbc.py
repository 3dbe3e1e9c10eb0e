"""Clients of Hive's JDBC driver, which PySpark has among its jars."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pyspark

from tests.java_tools import stop

_HERE = Path(__file__).parent
_JARS = Path(pyspark.__file__).parent / "jars"
_STOP_SECONDS = 30
_BEELINE_SECONDS = 120
_OPTIONS = ("-Xmx128m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class JdbcError(Exception):
    """Error of a statement.

    Attributes:
        state: its SQLSTATE.
    """

    def __init__(self, message: str, state: str | None) -> None:
        super().__init__(message)
        self.state = state


class Driver:
    """Process with the driver, which has any number of connections."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._names = count()

    def connect(self, url: str, user: str = "", password: str = "") -> JdbcConnection:
        """Return a new connection."""
        connection = JdbcConnection(driver=self, name=str(next(self._names)))
        self.ask("connect", connection.name, url, user, password)
        return connection

    def ask(self, *request: object) -> Any:
        """Return the rows that answer a request.

        Raises:
            JdbcError: what the driver raised.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the driver's process has ended"
        answer = json.loads(line)
        if "message" in answer:
            raise JdbcError(answer["message"], answer["state"])
        return answer["rows"]


@dataclass(frozen=True, slots=True, kw_only=True)
class JdbcConnection:
    """Connection of a driver."""

    driver: Driver
    name: str

    def execute(self, text: str) -> list[list[str]]:
        """Run a statement and return its rows; values are texts."""
        return list(self.driver.ask("execute", self.name, text))

    def prepared(self, text: str, *values: str) -> list[list[str]]:
        """Run a prepared statement."""
        return list(self.driver.ask("prepared", self.name, text, *values))

    def cancel(self, text: str, milliseconds: int) -> list[list[str]]:
        """Run a statement and cancel it after a while."""
        return list(self.driver.ask("cancel", self.name, text, milliseconds))

    def schemas(self, pattern: str | None = None) -> list[str]:
        """Return the names of databases."""
        return sorted(row[0] for row in self.driver.ask("schemas", self.name, pattern))

    def tables(
        self, schema: str | None, pattern: str | None = None, kind: str | None = None
    ) -> list[tuple[str, ...]]:
        """Return database, name, type and comment of tables."""
        found = self.driver.ask("tables", self.name, schema, pattern, kind)
        return sorted(tuple(row[1:5]) for row in found)

    def columns(
        self, schema: str | None, table: str | None, pattern: str | None = None
    ) -> list[tuple[str, ...]]:
        """Return table, name, type and comment of columns, in their order."""
        found = self.driver.ask("columns", self.name, schema, table, pattern)
        return [(row[2], row[3], row[5], row[11]) for row in found]

    def sizes(self, schema: str, table: str) -> dict[str, tuple[str, str | None]]:
        """Return JDBC's type and the size of each column."""
        found = self.driver.ask("columns", self.name, schema, table)
        return {row[3]: (row[4], row[6]) for row in found}

    def keys(self, schema: str, table: str, other: str) -> list[list[str]]:
        """Return the primary key of a table, and the foreign keys that another has of it."""
        own = self.driver.ask("primaryKeys", self.name, schema, table)
        return [*own, *self.driver.ask("foreignKeys", self.name, schema, table, other)]

    def close(self) -> None:
        """End the session."""
        self.driver.ask("close", self.name)


def beeline(url: str, text: str) -> str:
    """Run statements by Hive's beeline, and return what it prints."""
    options = ["-u", url, "-n", "somebody", "--silent=true", "--outputformat=tsv2"]
    command = ["java", *_OPTIONS, "-cp", f"{_JARS}/*", "org.apache.hive.beeline.BeeLine", *options]
    done = subprocess.run(
        [*command, "-e", text], capture_output=True, text=True, timeout=_BEELINE_SECONDS, check=True
    )
    return done.stdout


@contextmanager
def driver(*java_options: str) -> Iterator[Driver]:
    """Run a process with the driver within the block."""
    command = [
        "java",
        *_OPTIONS,
        *java_options,
        "-cp",
        f"{_JARS}/*",
        str(_HERE / "JdbcClient.java"),
    ]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            yield Driver(process)
        finally:
            stop(process, _STOP_SECONDS)
