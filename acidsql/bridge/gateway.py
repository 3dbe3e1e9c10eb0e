"""py4j's gateway, through which Python calls the JVM."""

from __future__ import annotations

from py4j.java_gateway import JavaObject as GatewayObject
from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import JavaObject


def gateway_server(spark: SparkSession) -> JavaObject:
    """Return the JVM's side of the gateway, a Java ``GatewayServer``."""
    return GatewayObject("GATEWAY_SERVER", spark.sparkContext._gateway._gateway_client)


def send_answers_at_once(spark: SparkSession) -> None:
    """Have the JVM send the whole of a long answer at once, which would wait 40 ms for its end."""
    only_object(spark, "Gateway.java", "PromptAnswers", [gateway_server(spark)])
