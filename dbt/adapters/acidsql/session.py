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
# Applications, and settings of their sessions that are already applied. Spark warns if a setting is
# applied again.
_configured: set[tuple[str, frozenset[tuple[str, str]]]] = set()


class SessionHandle:
    """Connection of one of dbt's threads; all connections share one Spark session.

    Each statement commits by itself, unless ``START TRANSACTION`` has begun a transaction.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._tag = f"dbt-{uuid.uuid4().hex}"
        self._cancelled = False

    @classmethod
    def open(cls, parameters: Mapping[str, str]) -> Self:
        """Return a connection to the session of this process, which is started if there is none.

        Args:
            parameters: settings of Spark; static settings have an effect only on a new session.
        """
        with _starting:
            return cls(acidsql.connect(_session(parameters), autocommit=True))

    def cursor(self) -> SessionCursor:
        """Return a cursor for dbt."""
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
        """Cancel the running statement from another thread, and refuse further statements."""
        self._cancelled = True
        self._connection.spark.sparkContext.cancelJobsWithTag(self._tag)

    def rollback(self) -> None:
        """Roll back the open transaction, if there is one."""
        self._connection.rollback()

    def close(self) -> None:
        """Roll back the open transaction; the Spark session stays open."""
        self._connection.close()


def _session(parameters: Mapping[str, str]) -> SparkSession:
    """Return the session of this process with these settings; start one if there is none."""
    builder = SparkSession.builder
    settings = frozenset(parameters.items())
    context = SparkContext._active_spark_context
    if context is None or (context.applicationId, settings) not in _configured:
        # The console shows dbt's output, so Spark must not draw progress bars.
        builder = builder.enableHiveSupport().config("spark.ui.showConsoleProgress", "false")
        for key, value in parameters.items():
            builder = builder.config(key, value)
    spark = builder.getOrCreate()
    _configured.add((spark.sparkContext.applicationId, settings))
    return spark


def _as_in_file(value: Any) -> Any:
    """Convert the value of a seed: a time becomes a text, which Spark casts in its time zone.

    Otherwise Spark would read a time in this process's zone, which can differ from the session's.
    """
    return value.isoformat(" ") if isinstance(value, datetime) else value


class SessionCursor:
    """Cursor with the methods that dbt calls."""

    def __init__(self, handle: SessionHandle, cursor: Cursor) -> None:
        self._handle = handle
        self._cursor = cursor

    @property
    def description(self) -> Sequence[tuple[Any, ...]] | None:
        """Columns of the result; None without a result."""
        return self._cursor.description

    @property
    def rowcount(self) -> int:
        """Number of rows that the statement changed; -1 for a query, or if it is not known."""
        return self._cursor.rowcount

    def execute(self, sql: str, bindings: Sequence[Any] | None = None) -> None:
        """Run a statement, which may end with a semicolon.

        Args:
            sql: text of the statement.
            bindings: values of its question marks.
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
        """Return all remaining rows."""
        with self._handle.running():
            return self._cursor.fetchall()

    def close(self) -> None:
        """Discard the result."""
        self._cursor.close()
