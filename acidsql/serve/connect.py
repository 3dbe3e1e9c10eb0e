"""Server of Spark Connect."""

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

# Reader options of Delta Lake and of acidsql.enable.
_TIME_TRAVEL = ("versionasof", "timestampasof")
# An SQL script, which Spark itself must run, and only once.
_SCRIPT = re.compile(r"(?:\s|--[^\n]*\n|/\*.*?\*/)*BEGIN\b", re.IGNORECASE | re.DOTALL)


class _OnSparkError(Exception):
    """Signal that Spark must run the statement."""


class ConnectServer:
    """Server of Spark Connect in a session; acidsql runs the statements of its clients.

    Attributes:
        port: port that the server listens on.
    """

    def __init__(self, spark: SparkSession, settings: Mapping[str, str]) -> None:
        """Start the server.

        Args:
            spark: the session; its metastore is opened first.
            settings: settings ``spark.connect.…``, which override the session's settings.

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
        """Stop the server, end the sessions of its clients, and roll back their transactions."""
        self._server.stop()

    def _ask(self, question: str, session: bridge.JavaObject, text: str | None) -> Any:
        """Answer a question of the server; None means that Spark handles it."""
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
    """Protect the values that the server has written from variable substitution by Spark."""
    if values is None:
        return None
    if isinstance(values, Mapping):
        return {name: bridge.verbatim(text) for name, text in values.items()}
    return [bridge.verbatim(text) for text in values]


def _run(client: Client, text: str) -> Any:
    """Run a statement.

    Spark passes the rows of a command to the client. For a query, Spark makes the client send the
    text again, and ``_query`` gets it.
    """
    if parse_in_session(client.spark, text) is None:
        return _query(client, text)
    return bridge.executed_command(client.run(text))


def _query(client: Client, text: str) -> DataFrame | None:
    """Return the rows of a query on ACID tables; None for any other statement.

    Spark runs the other statements, and knows whether a statement is a command.
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
    """Return the rows of tables and views, all from one snapshot.

    The rows are None for a table or view that is not in the metastore.

    Args:
        client: client whose DataFrame names the tables.
        requested: the parts of the ``name`` and the reader's ``options``, in lower case.
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
    """Refuse a DataFrame writer that names a table or view of the metastore.

    Spark does not know the table, and its error would suggest removing the table's directory.

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
