"""Credentials and connections to a Spark session in this process, or to a Thrift server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse, Connection, ConnectionState
from dbt.adapters.spark.connections import (
    SparkConnectionManager,
    SparkConnectionMethod,
    SparkCredentials,
)
from dbt_common.exceptions import DbtRuntimeError

from dbt.adapters.acidsql.session import SessionHandle

_METHODS = (SparkConnectionMethod.SESSION, SparkConnectionMethod.THRIFT)


@dataclass
class AcidSqlCredentials(SparkCredentials):
    """Credentials of dbt-spark, whose default method ``session`` needs no host."""

    host: str | None = None
    method: SparkConnectionMethod = SparkConnectionMethod.SESSION

    def __post_init__(self) -> None:
        if self.method not in _METHODS:
            raise DbtRuntimeError(
                f"The adapter acidsql has no method {self.method}: use session, or thrift with the "
                "server that `acidsql serve` starts"
            )
        if self.method == SparkConnectionMethod.SESSION and self.host is None:
            self.host = "localhost"
        super().__post_init__()

    @property
    def type(self) -> str:
        """Name of the adapter."""
        return "acidsql"


class AcidSqlConnectionManager(SparkConnectionManager):
    """Connections of dbt's threads."""

    TYPE = "acidsql"

    @classmethod
    def open(cls, connection: Connection) -> Connection:
        """Open a connection; dbt-spark opens those of the method ``thrift``."""
        credentials = connection.credentials
        is_open = connection.state == ConnectionState.OPEN
        if is_open or credentials.method != SparkConnectionMethod.SESSION:
            return super().open(connection)
        connection.handle = SessionHandle.open(credentials.server_side_parameters)
        connection.state = ConnectionState.OPEN
        return connection

    @classmethod
    def get_response(cls, cursor: Any) -> AdapterResponse:
        """Return dbt's report of a statement: the number of changed rows, if it is known."""
        rows = getattr(cursor, "rowcount", -1)
        if rows is None or rows < 0:
            return super().get_response(cursor)
        return AdapterResponse(_message=f"OK {rows}", rows_affected=rows)
