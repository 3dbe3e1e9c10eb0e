"""Tests of the connections between Python and the JVM."""

from __future__ import annotations

import socket
import threading
from typing import TYPE_CHECKING, Any

import pytest
from py4j.java_gateway import PythonProxyPool
from pyspark.java_gateway import ensure_callback_server_started

from acidsql.bridge.gateway import (
    callback_client,
    distinguish_names,
    gateway_server,
    send_answers_at_once,
)
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


def test_processes_at_one_jvm_name_their_objects_differently() -> None:
    names = set()
    for _ in range(2):
        pool = PythonProxyPool()
        distinguish_names(pool)
        names |= {pool.put(object()), pool.put(object())}
    assert len(names) == 4
    distinguish_names(pool)
    assert pool.put(object()) not in names


def test_python_answers_the_jvm_alone(spark: SparkSession) -> None:
    class Answer:
        def get(self) -> str:
            return "answered"

        class Java:
            implements = ("java.util.function.Supplier",)

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    client = callback_client(spark)
    assert callback_client(spark).equals(client)
    empty = jvm_class(spark, "java.util.Optional").empty()
    answer = Answer()
    assert empty.orElseGet(answer) == "answered"
    (known,) = [key for key, kept in gateway.gateway_property.pool.dict.items() if kept is answer]
    token = gateway.python_parameters.auth_token
    for said in (
        f"g\n{known}\ne\n",
        f"c\n{known}\nget\ne\n",
        "A\nwrong\ne\n",
        f"A\n{token[:-1]}\ne\ng\n{known}\ne\n",
    ):
        with socket.create_connection(("127.0.0.1", client.getPort()), timeout=10) as stranger:
            stranger.sendall(said.encode())
            try:
                heard = stranger.recv(100)
            except ConnectionResetError:
                heard = b""
        assert heard in (b"", b"!xn\n"), said  # closed, or an error first
    assert empty.orElseGet(answer) == "answered"


def gateway_connections(spark: SparkSession) -> list[Any]:
    """Return the open connections of the JVM's side."""
    server = gateway_server(spark)
    kind = server.getClass()
    while str(kind.getName()) != "py4j.GatewayServer":
        kind = kind.getSuperclass()
    field = kind.getDeclaredField("connections")
    field.setAccessible(True)
    return [c for c in field.get(server).toArray() if not c.getSocket().isClosed()]
