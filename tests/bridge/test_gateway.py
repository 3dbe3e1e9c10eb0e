"""Tests of the connections between Python and the JVM."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from acidsql.bridge.gateway import gateway_server, send_answers_at_once
from acidsql.bridge.jvm import jvm_class

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_no_connection_waits_before_the_end_of_an_answer(spark: SparkSession) -> None:
    send_answers_at_once(spark)
    done = threading.Event()
    called = threading.Event()

    def call() -> None:
        jvm_class(spark, "java.lang.System").nanoTime()
        called.set()
        done.wait()

    other = threading.Thread(target=call)
    other.start()
    called.wait()
    try:
        connections = gateway_connections(spark)
        assert len(connections) > 1
        assert all(connection.getSocket().getTcpNoDelay() for connection in connections)
    finally:
        done.set()
        other.join()


def gateway_connections(spark: SparkSession) -> list[Any]:
    """Return the open connections of the JVM's side."""
    server = gateway_server(spark)
    kind = server.getClass()
    while str(kind.getName()) != "py4j.GatewayServer":
        kind = kind.getSuperclass()
    field = kind.getDeclaredField("connections")
    field.setAccessible(True)
    return [c for c in field.get(server).toArray() if not c.getSocket().isClosed()]
