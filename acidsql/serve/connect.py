"""Start and end of Spark Connect's server."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from acidsql import api, bridge
from acidsql.errors import AcidAnalysisError
from acidsql.planning.as_of import query_of_table
from acidsql.planning.name_resolution import find, in_metastore
from acidsql.planning.parsed_statement import parse_and_resolve
from acidsql.planning.statement_snapshots import leased_snapshot
from acidsql.serve.clients import Client, Clients
from acidsql.session.at_work import is_at_work
from acidsql.session.parsing import parse_in_session
from acidsql.syntax import bind

# Options of Delta's reader, and of acidsql.enable's.
_TIME_TRAVEL = ("versionasof", "timestampasof")
# A script of Spark's, which it runs once by itself.
_SCRIPT = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*BEGIN\b", re.IGNORECASE | re.DOTALL)


class _OnSparkError(Exception):
    """The statement is to be run by Spark."""


class ConnectServer:
    """Spark Connect's server in a session, whose clients' statements acidsql runs.

    Attributes:
        port: on which it listens.
    """

    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        """Start the server.

        Args:
            spark: the session; its metastore is opened first.
            settings: ``spark.connect.…``, which win over the session's own.

        Raises:
            AcidAnalysisError: CONNECT_SERVER_MISSING, CONNECT_SERVER_NOT_STARTED.
            MetastoreError: the metastore cannot be reached.
        """
        self._clients = Clients(spark)
        with api.working(spark):
            pass  # a metastore that cannot be opened raises its error here
        self._server = bridge.start_connect_server(spark, settings, self._ask)
        self.port = self._server.port

    def stop(self) -> None:
        """End the server and the sessions of its clients, whose transactions are rolled back."""
        self._server.stop()

    def _ask(self, question: str, session: bridge.JavaObject, text: str | None) -> Any:
        """Answer a question of the server; None leaves a statement or the tables to Spark."""
        if question == "close":
            self._clients.leave(session)
            return None
        if is_at_work():
            return None
        client = self._clients.of(session)
        described = json.loads(text or "{}")
        if question == "tables":
            return _tables(client, described)
        if question == "written":
            return _refuse_writer(client, described)
        statement = bind(described["text"], _verbatim(described.get("values")))
        return _run(client, statement) if question == "run" else _query(client, statement)


def _verbatim(
    values: Mapping[str, str] | Sequence[str] | None,
) -> Mapping[str, str] | Sequence[str] | None:
    """Return values as the server has written them such that Spark substitutes nothing in them."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: bridge.verbatim(text) for name, text in values.items()}
    return [bridge.verbatim(text) for text in values]


def _run(client: Client, text: str) -> Any:
    """Run a statement. Of a command, Spark hands the rows to the client; of a query it has the
    client send the text again, as ``_query`` gets it.
    """
    if parse_in_session(client.spark, text) is None:
        return _query(client, text)
    return bridge.executed_command(client.run(text))


def _query(client: Client, text: str) -> DataFrame | None:
    """Return the rows of a query; None for a statement of any other kind, and for one without ACID
    tables: Spark runs it, and knows whether it was a command.
    """
    if parse_in_session(client.spark, text) is not None or _SCRIPT.match(text):
        return None
    try:
        with client.at_work():
            return api.run(client.spark, text, None, {}, _on_spark)
    except _OnSparkError:
        return None


def _on_spark() -> DataFrame:
    raise _OnSparkError


def _tables(client: Client, requested: Sequence[Mapping[str, Any]]) -> list[DataFrame | None]:
    """Return the rows of tables and views, all of one snapshot; None for those that the metastore
    does not have.

    Args:
        client: whose DataFrame names them.
        requested: ``name`` in parts, and the ``options`` of the reader, in lower case.
    """
    spark = client.spark
    with client.at_work(), api.working(spark) as session:
        texts = [
            query_of_table(
                spark, one["name"], *(one["options"].get(option) for option in _TIME_TRAVEL)
            )
            if find(session, one["name"])
            else None
            for one in requested
        ]
        if not any(texts):
            return [None] * len(texts)
        with leased_snapshot(session) as snapshot:
            return [
                None if text is None else snapshot.run(parse_and_resolve(session, text))
                for text in texts
            ]


def _refuse_writer(client: Client, name: Sequence[str]) -> None:
    """Refuse a DataFrame's writer that names a table or view of the metastore: Spark would not know
    the table, and advise to remove its directory.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.CONNECT_WRITE.
    """
    spark = client.spark
    with client.at_work(), api.working(spark) as session:
        if in_metastore(session, name):
            table = ".".join(name)
            raise AcidAnalysisError(
                "UNSUPPORTED_FEATURE.CONNECT_WRITE",
                f"{table} is transactional, and a client of Spark Connect writes to it by a "
                f"statement: spark.sql('INSERT INTO {table} SELECT * FROM {{rows}}', rows=df)",
            )
