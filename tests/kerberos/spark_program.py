"""Spark session that does what the lines of its standard input say, in JSON, and answers each by a
line that begins with ``answer``. It ends with its standard input.

Argument: the warehouse directory. Lines: ``{"session": name, "settings": …}`` makes a session,
``{"session": name, "sql": text}`` runs a statement, ``{"session": name, "load": table}`` reads a
table by ``format("acidsql")``, ``{"token": text}`` gives Hadoop's user a token, as Spark does.
"""

from __future__ import annotations

import json
import sys
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import acidsql

_ALIAS = "hive.server2.delegation.token"  # of Spark's HiveDelegationTokenProvider


def main(warehouse: str) -> None:
    """Answer lines."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    spark = builder.config("spark.sql.warehouse.dir", warehouse).getOrCreate()
    sessions: dict[str, SparkSession] = {}
    for line in sys.stdin:
        try:
            answer = _answer(spark, sessions, json.loads(line))
        except PySparkException as error:
            answer = {"condition": error.getErrorClass(), "message": str(error)}
        print("answer", json.dumps(answer, default=str), flush=True)
    spark.stop()


def _answer(spark: SparkSession, sessions: dict[str, SparkSession], asked: dict[str, Any]) -> Any:
    if "token" in asked:
        hadoop = spark._jvm.org.apache.hadoop
        token = hadoop.security.token.Token()
        token.decodeFromUrlString(asked["token"])
        user = hadoop.security.UserGroupInformation.getCurrentUser()
        return user.addToken(hadoop.io.Text(_ALIAS), token)
    name = asked["session"]
    if "settings" in asked:
        sessions[name] = spark.newSession()
        for key, value in asked["settings"].items():
            sessions[name].conf.set(key, value)
        return None
    session = sessions[name]
    if "load" in asked:
        acidsql.register(session)
        frame = session.read.format("acidsql").load(asked["load"])
    else:
        frame = acidsql.sql(session, asked["sql"])
    return sorted([list(row) for row in frame.collect()], key=str)


if __name__ == "__main__":
    main(*sys.argv[1:])
