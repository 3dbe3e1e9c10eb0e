"""Program that is a client of Spark Connect: it runs the lines of JSON that it reads, and answers
with one each.

A line has the name of a session, which is made when it is first named, and a program that gives
``result`` a value; ``spark`` is the session, and ``connect`` makes another one.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession


def main(url: str) -> None:
    """Run programs until the input ends."""
    sessions: dict[str, SparkSession] = {}
    answers, sys.stdout = sys.stdout, sys.stderr  # programs may print

    def connect() -> SparkSession:
        return SparkSession.builder.remote(url).create()

    for line in sys.stdin:
        name, program = json.loads(line)
        try:
            spark = sessions[name] if name in sessions else sessions.setdefault(name, connect())
            names: dict[str, Any] = {"spark": spark, "connect": connect}
            exec(program, names)
            answer = {"result": _plain(names.get("result"))}
            if program == "spark.stop()":
                del sessions[name]
        except PySparkException as error:
            answer = {
                "error": type(error).__name__,
                "classes": [c.__name__ for c in type(error).__mro__],
                "condition": error.getCondition(),
                "state": error.getSqlState(),
                "parameters": error.getMessageParameters(),
                "message": str(error),
            }
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _plain(value: Any) -> Any:
    if isinstance(value, Row):
        return [_plain(own) for own in value]
    return [_plain(own) for own in value] if isinstance(value, list) else value


if __name__ == "__main__":
    main(sys.argv[1])
