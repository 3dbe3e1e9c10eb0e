"""py4j's gateway, through which Python calls the JVM."""

from __future__ import annotations

from py4j.java_gateway import JavaObject as GatewayObject
from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import PACKAGE, class_loader, compiled, source_text
from acidsql.bridge.jvm import JavaObject, jvm_class
from acidsql.bridge.jvm_cache import JvmCache

_SOURCE = "Gateway.java"
_CLASS = f"{PACKAGE}.PromptAnswers"


def gateway_server(spark: SparkSession) -> JavaObject:
    """Return the JVM's side of the gateway, a Java ``GatewayServer``."""
    return GatewayObject("GATEWAY_SERVER", spark.sparkContext._gateway._gateway_client)


def send_answers_at_once(spark: SparkSession) -> None:
    """Have the JVM send the whole of a long answer at once, which would wait 40 ms for its end."""
    known = JvmCache.of(spark.sparkContext._gateway).objects
    if _CLASS in known:
        return
    loader = compiled(spark, class_loader(spark), source_text(_SOURCE, {}))
    arguments = jvm_class(spark, "java.util.List").of(gateway_server(spark)).toArray()
    known[_CLASS] = loader.loadClass(_CLASS).getConstructors()[0].newInstance(arguments)
