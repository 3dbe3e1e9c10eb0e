"""Server of the Thrift protocol."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.serve import metadata
from acidsql.serve.clients import Clients
from acidsql.session.acid_session import AcidSession
from acidsql.session.at_work import is_at_work

logger = logging.getLogger("acidsql.serve")

_LISTS: Mapping[str, Callable[[AcidSession, str], str]] = {
    "schemas": metadata.schemas,
    "tables": metadata.tables,
    "columns": metadata.columns,
    "primary_keys": metadata.primary_keys,
}


class Server:
    """Spark's Thrift server in a session; acidsql runs the statements of its clients.

    Attributes:
        port: port that the server listens on.
    """

    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        """Start the server.

        Args:
            spark: the session; its metastore is opened first.
            settings: Hive's settings ``hive.server2.…``, which override the session's settings.

        Raises:
            AcidAnalysisError: THRIFT_SERVER_MISSING, THRIFT_SERVER_NOT_STARTED.
            MetastoreError: the metastore cannot be reached.
        """
        self._spark = spark
        self._clients = Clients(spark)
        with api.working(spark):
            pass  # a metastore that cannot be opened raises its error here
        self._server = bridge.start_thrift_server(spark, settings, self._ask)
        self.port = self._server.port

    def stop(self) -> None:
        """Stop the server, end the sessions of its clients, and roll back their transactions."""
        self._server.stop()

    def _ask(self, question: str, session: bridge.JavaObject, text: str | None) -> Any:
        """Answer a question of the server: about a statement, the end of a session, or metadata."""
        if question == "close":
            self._clients.leave(session)
            return None
        if question == "run":
            return self._run(session, text or "")
        spark = bridge.session_of(self._spark, session)
        if question == "use":
            return api.run(spark, text or "", None, {})
        with api.working(spark) as acid_session:
            return _LISTS[question](acid_session, text or "")

    def _run(self, session: bridge.JavaObject, text: str) -> DataFrame | None:
        """Run a client's statement; return None if acidsql itself makes Spark parse it."""
        return None if is_at_work() else self._clients.of(session).run(text)
