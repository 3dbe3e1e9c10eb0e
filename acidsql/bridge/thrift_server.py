"""Spark's Thrift server, whose clients' statements a function in Python runs.

What is added to Spark's classes is a Java source beside this module, which Janino compiles in the
driver: Spark has it for the code that it generates.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from py4j.clientserver import ClientServer
from py4j.java_gateway import JavaObject as GatewayObject
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.jobs import root_message
from acidsql.bridge.jvm import JavaObject, jvm_class
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.errors import AcidAnalysisError

_SOURCE = Path(__file__).with_name("ThriftServer.java")
_PACKAGE = "acidsql.bridge"
_OPERATION = "org.apache.spark.sql.hive.thriftserver.SparkGetTablesOperation"
_SINGLE_SESSION = "spark.sql.hive.thriftServer.singleSession"
_AUTHENTICATION = "hive.server2.authentication."
# Stands in the source for the class of sessions that the server's classes take.
_SESSION = "thriftserver.Session"
_UTILS = "org.apache.spark.util.Utils"

Ask = Callable[[str, JavaObject, str | None], Any]
"""Answers what the server asks: the question, the Java session and a text."""


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
    classes = _classes(spark)
    gateway = spark.sparkContext._gateway
    if not isinstance(gateway, ClientServer):
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            "threads of Python are not those of the JVM: unset PYSPARK_PIN_THREAD",
        )
    ensure_callback_server_started(gateway)
    python = GatewayObject("GATEWAY_SERVER", gateway._gateway_client).getCallbackClient()
    secret = secrets.token_hex(32)
    answers = _answers(secret, partial(_answer, spark, classes, ask))
    server = _new(spark, classes, "ThriftServer", [answers, secret, python])
    own = spark._jsparkSession
    configuration = own.sessionState().newHadoopConf()
    for key, value in settings.items():
        configuration.set(key, value)
        if key.startswith(_AUTHENTICATION):
            # Hive's classes that ask LDAP or PAM take their settings from here, or from a file.
            jvm_class(spark, "java.lang.System").setProperty(key, value)
    context = own.sparkContext()
    own.extensions().injectParser(server.parsers(context))
    try:
        server.start(_as_server_takes_it(spark), context, configuration)
    except Py4JJavaError as error:
        raise AcidAnalysisError(
            "THRIFT_SERVER_NOT_STARTED",
            f"Spark's Thrift server did not start ({root_message(error.java_exception)}): see "
            "whether its port is free and its settings, hive.server2.*, are right",
        ) from error
    return ThriftServer(port=int(server.port()), stop=server.stop)


def session_of(spark: SparkSession, session: JavaObject) -> SparkSession:
    """Return the Python handle of a Java session of the same application."""
    return SparkSession(spark.sparkContext, session)


@cached_per_session(1)
def _classes(spark: SparkSession) -> JavaObject:
    """Return the loader of the compiled classes."""
    compiler = jvm_class(spark, "org.codehaus.janino.SimpleCompiler")()
    compiler.setParentClassLoader(jvm_class(spark, _UTILS).getContextOrSparkClassLoader())
    compiler.cook(_SOURCE.read_text("utf-8").replace(_SESSION, _session_class(spark)))
    return compiler.getClassLoader()


def _session_class(spark: SparkSession) -> str:
    """Return the class of sessions that the server's classes take."""
    loader = jvm_class(spark, _UTILS).getContextOrSparkClassLoader()
    try:
        found = loader.loadClass(_OPERATION)
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


def _new(spark: SparkSession, classes: JavaObject, name: str, arguments: list[Any]) -> JavaObject:
    """Make an object of one of the compiled classes, which has one constructor."""
    constructor = classes.loadClass(f"{_PACKAGE}.{name}").getDeclaredConstructors()[0]
    constructor.setAccessible(True)
    given = jvm_class(spark, "java.util.ArrayList")()  # py4j puts no Python object into an array
    for argument in arguments:
        given.add(argument)
    return constructor.newInstance(given.toArray())


def _answers(secret: str, answer: Callable[[str, JavaObject, str | None], Any]) -> object:
    """Return what the JVM calls.

    PySpark's server of callbacks does not ask who calls, so the Thrift server gives a secret. It is
    in no attribute, which another program could set.
    """

    class Answers:
        __slots__ = ()

        def apply(self, said: str, question: str, session: JavaObject, text: str | None) -> Any:
            if not secrets.compare_digest(str(said).encode(), secret.encode()):
                raise PermissionError("the caller is not the Thrift server")
            return answer(question, session, text)

        class Java:
            implements = ("scala.Function4",)

    return Answers()


def _answer(
    spark: SparkSession,
    classes: JavaObject,
    ask: Ask,
    question: str,
    session: JavaObject,
    text: str | None,
) -> Any:
    """Return an answer as Java takes it: a DataFrame as its plan, an error as an exception."""
    try:
        answer = ask(question, session, text)
        if isinstance(answer, DataFrame):
            # A command has run by now; this plan has its result and does not run it again.
            return answer._jdf.queryExecution().commandExecuted()
    except Exception as error:  # noqa: BLE001 - the client gets it
        return _java_error(spark, classes, error)
    return answer


def _java_error(spark: SparkSession, classes: JavaObject, error: Exception) -> JavaObject:
    condition: str | None = None
    state: str | None = None
    parameters: Mapping[str, str] = {}
    if isinstance(error, PySparkException):
        getter = getattr(error, "getCondition", None) or error.getErrorClass
        condition, state = getter(), error.getSqlState()
        parameters = dict(error.getMessageParameters() or {})
        message = str(error).strip()
    elif isinstance(error, Py4JJavaError):
        message = str(error.java_exception)
    else:
        message = f"{type(error).__name__}: {error}"
    java = jvm_class(spark, "java.util.HashMap")()
    for key, value in parameters.items():
        java[key] = value
    return _new(spark, classes, "StatementError", [message, condition, state, java])
