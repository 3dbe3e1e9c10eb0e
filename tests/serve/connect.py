"""Client of Spark Connect in a process of its own: a session of Spark's own in the same process
would not get on with it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_PROGRAM = Path(__file__).with_name("connect_program.py")


class ConnectError(Exception):
    """Error that a client got.

    Attributes:
        classes: the names of its class and of those above.
        condition: its condition.
        state: its SQLSTATE.
        parameters: the values in its message.
    """

    def __init__(self, told: Mapping[str, Any]) -> None:
        super().__init__(told["message"])
        self.classes: list[str] = told["classes"]
        self.condition: str | None = told["condition"]
        self.state: str | None = told["state"]
        self.parameters: Mapping[str, str] = told["parameters"]


class ConnectClient:
    """Process with sessions of Spark Connect."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, program: str, session: str = "main") -> Any:
        """Run a program in a session; return what it has called ``result``.

        Raises:
            ConnectError: it has ended with an error of PySpark's.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps([session, program]) + "\n")
        stdin.flush()
        said = stdout.readline()
        assert said, "the client has ended: see what it said"
        answer = json.loads(said)
        if "result" not in answer:
            raise ConnectError(answer)
        return answer["result"]

    def sql(self, text: str, args: Any = None, session: str = "main") -> Any:
        """Run a statement; return its rows as lists."""
        return self.run(f"result = spark.sql({text!r}, {args!r}).collect()", session)


@contextmanager
def connect_client(url: str) -> Iterator[ConnectClient]:
    """Run a client within the block."""
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", str(_PROGRAM), url],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={
            key: value for key, value in os.environ.items() if not key.startswith("SPARK_CONNECT")
        },
    ) as process:
        try:
            yield ConnectClient(process)
        finally:
            process.kill()
