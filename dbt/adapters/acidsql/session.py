"""Connections to the Spark session of this process, by ``acidsql.connect``."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Self

from dbt_common.exceptions import DbtRuntimeError
from pyspark import SparkContext
from pyspark.sql import SparkSession

import acidsql
from acidsql.dbapi.connection import Connection
from acidsql.dbapi.cursor import Cursor

_starting = threading.Lock()
# Applications and the settings that their session was given: Spark warns of each repetition.
_configured: set[tuple[str, frozenset[tuple[str, str]]]] = set()


class SessionHandle:
    """Connection of a thread of dbt; all of them share one Spark session.

    Each statement commits by itself, unless a transaction is begun by ``START TRANSACTION``.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tag = f"dbt-{uuid.uuid4().hex}"
        self._cancelled = False

    @classmethod
    def open(cls, parameters: Mapping[str, str]) -> Self:
        """Return a connection to the session of this process, which is started if there is none.

        Args:
            parameters: settings of Spark; those that only a new session can have count for one.
        """
        with _starting:
            return cls(acidsql.connect(_session(parameters), autocommit=True))

    def cursor(self) -> SessionCursor:
        """Return a cursor, as dbt uses it."""
        return SessionCursor(self, self._connection.cursor())

    @contextmanager
    def running(self) -> Iterator[None]:
        """Mark the Spark jobs of the block, for ``cancel``."""
        if self._cancelled:
            raise DbtRuntimeError("cancelled")
        context = self._connection.spark.sparkContext
        context.addJobTag(self._tag)
        try:
            yield
        finally:
            context.removeJobTag(self._tag)

    def cancel(self) -> None:
        """End the statement that is running, from another thread, and refuse further ones."""
        self._cancelled = True
        self._connection.spark.sparkContext.cancelJobsWithTag(self._tag)

    def rollback(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._connection.rollback()

    def close(self) -> None:
        """Roll back the open transaction; the Spark session goes on."""
        self._connection.close()


def _session(parameters: Mapping[str, str]) -> SparkSession:
    """Return the session of this process with these settings, started if there is none."""
    builder = SparkSession.builder
    settings = frozenset(parameters.items())
    context = SparkContext._active_spark_context
    if context is None or (context.applicationId, settings) not in _configured:
        # dbt's output is on the console.
        builder = builder.enableHiveSupport().config("spark.ui.showConsoleProgress", "false")
        for key, value in parameters.items():
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _configured.add((spark.sparkContext.applicationId, settings))
    return spark


def _as_in_file(value: Any) -> Any:
    """Return the value of a seed; of a time its text, which Spark casts in the session's time zone.

    As a local time of this process it would be another one where the zones differ.
    """
    return value.isoformat(" ") if isinstance(value, datetime) else value


class SessionCursor:
    """Cursor with the methods that dbt calls."""

    def __init__(self, handle: SessionHandle, cursor: Cursor) -> None:
        self._handle = handle
        self._cursor = cursor

    @property
    def description(self) -> Sequence[tuple[Any, ...]] | None:
        """Columns of the result; None without one."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Number of rows that the statement changed; -1 of a query, and if it is not known."""
        return self._cursor.rowcount

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement, which may end with a semicolon.

        Args:
            sql: its text.
            bindings: the values of its question marks.
        """
        values = None if bindings is None else [_as_in_file(value) for value in bindings]
        with self._handle.running():
            self._cursor.execute(sql.strip().removesuffix(";"), values)

    def fetchone(self) -> tuple[Any, ...] | None:
        """Return the next row; None after the last one."""
        with self._handle.running():
            return self._cursor.fetchone()

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        """Return the next rows, at most ``size``."""
        with self._handle.running():
            return self._cursor.fetchmany(size)

    def fetchall(self) -> list[tuple[Any, ...]]:
        """Return all rows that are left."""
        with self._handle.running():
            return self._cursor.fetchall()

    def close(self) -> None:
        """Forget the result."""
        self._cursor.close()
