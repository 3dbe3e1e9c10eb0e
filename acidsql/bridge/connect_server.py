"""Spark Connect's server, with a Python function that runs the clients' statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from acidsql.bridge.client_statements import Ask, ServerClasses, check_threads, java_error
from acidsql.bridge.java_sources import loaded
from acidsql.bridge.jobs import root_message
from acidsql.bridge.jvm import jvm_class
from acidsql.errors import AcidAnalysisError, AcidSqlError

_SOURCE = "ConnectServer.java"
_SERVICE = "org.apache.spark.sql.connect.service.SparkConnectService"
_PARSE_EXCEPTION = "org.apache.spark.sql.catalyst.parser.ParseException"
# Placeholder in the Java source for an error's positions in a text: its start, and in older
# releases also its end.
_PLACE = "connect.Place"
_ORIGIN = "org.apache.spark.sql.catalyst.trees.CurrentOrigin$.MODULE$.get()"
_WITH_START_ALONE = 4
# A plan in Spark's cache would show the rows of an older snapshot.
_FIXED = {"spark.connect.session.planCache.maxSize": "0"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningConnectServer:
    """Running Spark Connect server.

    Attributes:
        port: port on which the server listens.
        stop: ends the server and the sessions of its clients.
    """

    port: int
    stop: Callable[[], None]


def start_connect_server(
    spark: SparkSession, settings: Mapping[str, str], ask: Ask
) -> RunningConnectServer:
    """Start Spark Connect's server, which gives each client a new session of this application.

    Args:
        spark: the session.
        settings: ``spark.connect.…`` settings, which override the application's settings.
        ask: answers the server's requests, in the JVM thread that waits for the answer.

    Raises:
        AcidAnalysisError: CONNECT_SERVER_MISSING, this is PySpark 3 or a Spark without the
            server; CONNECT_SERVER_NOT_STARTED, for example because the port is in use.
    """
    _check_release(spark)
    check_threads(spark, "CONNECT_SERVER_NOT_STARTED")
    names = {_PLACE: ", ".join([_ORIGIN] * _places(spark))}
    classes = ServerClasses(spark, _SOURCE, names, ask, _error_class)
    java_session = spark._jsparkSession
    server = classes.new("ConnectServer", classes.requested, java_session.sparkContext())
    java_session.extensions().injectParser(server.parsers())
    # Hint rules run before Spark's own rules, which would find the old plan of a temporary view.
    java_session.extensions().injectHintResolutionRule(server.rules())
    # Resolution rules see the plans that Spark's own rules insert, for example EXECUTE IMMEDIATE.
    java_session.extensions().injectResolutionRule(server.rules())
    given = jvm_class(spark, "java.util.HashMap")()
    for key, value in {**settings, **_FIXED}.items():
        given[key] = value
    try:
        server.start(given)
    except Py4JJavaError as error:
        raise AcidAnalysisError(
            "CONNECT_SERVER_NOT_STARTED",
            f"Spark Connect's server did not start ({root_message(error.java_exception)}): see "
            "whether its port is free and its settings, spark.connect.*, are right",
        ) from error
    return RunningConnectServer(port=int(server.port()), stop=server.stop)


def _check_release(spark: SparkSession) -> None:
    try:
        is_there = int(spark.version.partition(".")[0]) >= 4
        if is_there:
            loaded(spark, _SERVICE)
    except Py4JJavaError:
        is_there = False
    if not is_there:
        raise AcidAnalysisError(
            "CONNECT_SERVER_MISSING",
            f"this Spark ({spark.version}) comes without Spark Connect's server as acidsql needs "
            "it: use PySpark 4 of the package index",
        )


def _places(spark: SparkSession) -> int:
    """Return the number of positions in the constructor of ParseException."""
    constructors = loaded(spark, _PARSE_EXCEPTION).getConstructors()
    return 1 if any(c.getParameterCount() == _WITH_START_ALONE for c in constructors) else 2


def _error_class(error: Exception) -> str | None:
    """Return the Java class that represents a Python error; None for the JVM's own errors."""
    if not isinstance(error, AcidSqlError) and java_error(error) is not None:
        return None
    if isinstance(error, ParseException):
        return "ParseError"
    return "AnalysisError" if isinstance(error, AnalysisException) else "ExecutionError"
