"""py4j's gateway, through which Python calls the JVM and the JVM calls Python."""

from __future__ import annotations

import secrets

from py4j.java_gateway import JavaObject as GatewayObject
from py4j.java_gateway import PythonProxyPool
from py4j.protocol import Py4JJavaError
from pyspark.java_gateway import ensure_callback_server_started
from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import new_object, only_object
from acidsql.bridge.jvm import JavaObject
from acidsql.bridge.jvm_cache import JvmCache
from acidsql.bridge.spark_versions import missing_internal

_SOURCE = "Gateway.java"


def gateway_server(spark: SparkSession) -> JavaObject:
    """Return the JVM's side of the gateway, a Java ``GatewayServer``."""
    return GatewayObject("GATEWAY_SERVER", spark.sparkContext._gateway._gateway_client)


def send_answers_at_once(spark: SparkSession) -> None:
    """Make the JVM send a long answer as a whole; otherwise its end would be 40 ms late."""
    only_object(spark, _SOURCE, "PromptAnswers", [gateway_server(spark)])


def callback_client(spark: SparkSession) -> JavaObject:
    """Return the JVM's client of Python's callback server, and start both if necessary.

    Any program on the machine can connect to that server. PySpark starts it without authentication.
    This server closes every connection that does not begin with a token, which Python passes to the
    JVM through the gateway.

    Raises:
        AcidAnalysisError: this release of py4j lacks the client (UNSUPPORTED_SPARK_VERSION).
    """
    gateway = spark.sparkContext._gateway
    with JvmCache.of(gateway).mutex:
        # PySpark started the server, and its clients connected without a token.
        if gateway.python_parameters.auth_token is None:
            _start_server(spark)
    return gateway_server(spark).getCallbackClient()


def start_callbacks(spark: SparkSession) -> None:
    """Start Python's callback server, unless the JVM already calls this process.

    A server that PySpark started stays as it is, because a stream may be using it. Another process
    that uses the same JVM may have redirected the calls to itself, and may have ended since.

    Raises:
        AcidAnalysisError: see ``callback_client``.
    """
    gateway = spark.sparkContext._gateway
    with JvmCache.of(gateway).mutex:
        server = gateway.__dict__.get("_callback_server")
        called = None if server is None else gateway_server(spark).getCallbackClient().getPort()
        if server is None or called != server.get_listening_port():
            _start_server(spark)


def distinguish_names(pool: PythonProxyPool) -> None:
    """Give this process's objects names that no other process at the same JVM uses.

    py4j numbers objects from 0 in each process. When the JVM collects an object of a process that
    has ended, it reports the object's name to the process that it calls now. With equal names, that
    process would drop an object that is still in use.
    """
    with pool.lock:
        pool.next_id = max(pool.next_id, secrets.randbelow(1 << 53))


def _start_server(spark: SparkSession) -> None:
    """Start a server that requires a new token, and stop the server that is running, if any.

    The caller holds the mutex.
    """
    gateway = spark.sparkContext._gateway
    if gateway.__dict__.get("_callback_server") is not None:
        gateway.shutdown_callback_server()
        gateway._callback_server = None
    token = secrets.token_hex(32)
    gateway.python_parameters.auth_token = token
    distinguish_names(gateway.gateway_property.pool)
    ensure_callback_server_started(gateway)
    try:
        new_object(spark, _SOURCE, "NamedCaller", [gateway_server(spark), token])
    except Py4JJavaError as error:
        raise missing_internal(spark.version, "py4j's client of callbacks") from error
