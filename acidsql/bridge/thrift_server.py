"""Spark's Thrift server, with a Python function that runs the clients' statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from acidsql.bridge.client_statements import Ask, ServerClasses, check_threads
from acidsql.bridge.java_sources import loaded
from acidsql.bridge.jobs import root_message
from acidsql.bridge.jvm import JavaObject, jvm_class
from acidsql.errors import AcidAnalysisError

_SOURCE = "ThriftServer.java"
_OPERATION = "org.apache.spark.sql.hive.thriftserver.SparkGetTablesOperation"
_SINGLE_SESSION = "spark.sql.hive.thriftServer.singleSession"
_AUTHENTICATION = "hive.server2.authentication."
# Placeholder in the Java source for the session class that the server's classes take.
_SESSION = "thriftserver.Session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThriftServer:
    """Running Thrift server.

    Attributes:
        port: port on which the server listens.
        stop: ends the server and the sessions of its clients.
    """

    port: int
    stop: Callable[[], None]


def start_thrift_server(spark: SparkSession, settings: Mapping[str, str], ask: Ask) -> ThriftServer:
    """Start Spark's Thrift server, which gives each client a new session of this application.

    Args:
        spark: the session.
        settings: Hive settings (``hive.server2.…``), which override the session's settings.
        ask: answers the server's requests, in the JVM thread that waits for the answer.

    Raises:
        AcidAnalysisError: THRIFT_SERVER_MISSING, Spark was built without the server;
            THRIFT_SERVER_NOT_STARTED, for example because the port is in use.
    """
    if spark.conf.get(_SINGLE_SESSION, "false") == "true":
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            f"clients need sessions of their own: unset {_SINGLE_SESSION}",
        )
    names = {_SESSION: _session_class(spark)}
    check_threads(spark, "THRIFT_SERVER_NOT_STARTED")
    classes = ServerClasses(spark, _SOURCE, names, ask, lambda _: "StatementError")
    java_session = spark._jsparkSession
    configuration = java_session.sessionState().newHadoopConf()
    for key, value in settings.items():
        configuration.set(key, value)
        if key.startswith(_AUTHENTICATION):
            # Hive's classes for LDAP and PAM take their settings from here or from a file.
            jvm_class(spark, "java.lang.System").setProperty(key, value)
    server = classes.new("ThriftServer", classes.requested, java_session.sparkContext())
    java_session.extensions().injectParser(server.parsers())
    try:
        server.start(_as_server_takes_it(spark), configuration)
    except Py4JJavaError as error:
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            f"Spark's Thrift server did not start ({root_message(error.java_exception)}): see "
            "whether its port is free and its settings, hive.server2.*, are right",
        ) from error
    return ThriftServer(port=int(server.port()), stop=server.stop)


def _session_class(spark: SparkSession) -> str:
    """Return the name of the session class that the server's classes take."""
    try:
        operation = loaded(spark, _OPERATION)
    except Py4JJavaError as error:
        raise AcidAnalysisError(
            "THRIFT_SERVER_MISSING",
            "this Spark was built without its Thrift server: use PySpark of the package index, or "
            "a build with -Phive-thriftserver",
        ) from error
    return str(operation.getConstructors()[0].getParameterTypes()[0].getName())


def _as_server_takes_it(spark: SparkSession) -> JavaObject:
    """Return the Java session, or before Spark 4 its ``SQLContext``."""
    session = spark._jsparkSession
    return session.sqlContext() if _session_class(spark).endswith(".SQLContext") else session
