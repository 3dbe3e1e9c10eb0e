"""Spark sessions whose metastore is a server of Hive."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from pyspark.sql import SparkSession

import acidsql
from acidsql.metastore.hive.connection import Connections
from acidsql.session.acid_session import AcidSession
from tests.metastore.server.launcher import MetastoreServer
from tests.metastore.subjects import empty

_numbers = itertools.count()


class Client:
    """Spark session of its own, in a new database of a server."""

    def __init__(self, spark: SparkSession, uri: str, database: str = "default") -> None:
        self.spark = spark.newSession()
        self.spark.conf.set("spark.acidsql.metastore", uri)
        if database != "default":
            self.sql(f"CREATE DATABASE IF NOT EXISTS {database}")
            self.sql(f"USE {database}")

    @property
    def session(self) -> AcidSession:
        """``AcidSession`` of the Spark session."""
        return AcidSession.of(self.spark)

    def sql(self, text: str) -> list[tuple[object, ...]]:
        """Run a statement; its rows, sorted."""
        rows = acidsql.sql(self.spark, text).collect()
        return sorted((tuple(row) for row in rows), key=str)

    def close(self) -> None:
        """End what acidsql keeps for it."""
        self.session.close()


@pytest.fixture
def client(
    spark: SparkSession, metastore_server: Callable[[str], MetastoreServer]
) -> Iterator[Callable[..., Client]]:
    """Yield a function that makes clients of a version's server.

    The server is emptied first; all clients use one database.
    """
    database = f"db{next(_numbers)}"
    emptied = set()
    with ExitStack() as stack:

        def make(version: str) -> Client:
            server = metastore_server(version)
            if version not in emptied:
                empty(server)
                emptied.add(version)
            made = Client(spark, server.uri, database)
            stack.callback(made.close)
            return made

        yield make


class Calls:
    """Calls that are sent to servers."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, tuple[object, ...]]] = []

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.sent]

    def clear(self) -> None:
        self.sent.clear()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """Record the calls that are sent from now on."""
    calls = Calls()
    send = Connections.call

    def record(self: Connections, name: str, *arguments: object, **options: bool) -> object:
        calls.sent.append((name, arguments))
        return send(self, name, *arguments, **options)

    monkeypatch.setattr(Connections, "call", record)
    return calls
