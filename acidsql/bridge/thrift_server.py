"""Spark's Thrift server, whose clients' statements a function in Python runs."""

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
# Stands in the source for the class of sessions that the server's classes take.
_SESSION = "thriftserver.Session"


@dataclass(frozen=True, slots=True, kw_only=True)
class ThriftServer:
    """Thrift server that listens.

    Attributes:
        port: on which it listens.
        stop: ends it and the sessions of its clients.
    """

    port: int
    stop: Callable[[], None]


def start_thrift_server(spark: SparkSession, settings: Mapping[str, str], ask: Ask) -> ThriftServer:
    """Start Spark's Thrift server, whose clients have new sessions beside ``spark``.

    Args:
        spark: the session.
        settings: of Hive (``hive.server2.…``), which win over the session's own.
        ask: answers what the server asks, in the thread of the JVM that waits for it.

    Raises:
        AcidAnalysisError: THRIFT_SERVER_MISSING, Spark was built without it;
            THRIFT_SERVER_NOT_STARTED, as when the port is in use.
    """
    if spark.conf.get(_SINGLE_SESSION, "false") == "true":
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            f"clients need sessions of their own: unset {_SINGLE_SESSION}",
        )
    names = {_SESSION: _session_class(spark)}
    check_threads(spark, "THRIFT_SERVER_NOT_STARTED")
    classes = ServerClasses(spark, _SOURCE, names, ask, lambda _: "StatementError")
    own = spark._jsparkSession
    configuration = own.sessionState().newHadoopConf()
    for key, value in settings.items():
        configuration.set(key, value)
        if key.startswith(_AUTHENTICATION):
            # Hive's classes that ask LDAP or PAM take their settings from here, or from a file.
            jvm_class(spark, "java.lang.System").setProperty(key, value)
    server = classes.new("ThriftServer", classes.requested, own.sparkContext())
    own.extensions().injectParser(server.parsers())
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
    """Return the class of sessions that the server's classes take."""
    try:
        found = loaded(spark, _OPERATION)
    except Py4JJavaError as error:
        raise AcidAnalysisError(
            "THRIFT_SERVER_MISSING",
            "this Spark was built without its Thrift server: use PySpark of the package index, or "
            "a build with -Phive-thriftserver",
        ) from error
    return str(found.getConstructors()[0].getParameterTypes()[0].getName())


def _as_server_takes_it(spark: SparkSession) -> JavaObject:
    """Return the Java session, or its ``SQLContext`` before Spark 4."""
    session = spark._jsparkSession
    return session.sqlContext() if _session_class(spark).endswith(".SQLContext") else session
