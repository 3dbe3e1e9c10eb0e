"""``acidsql serve``: serve ACID tables by Spark's Thrift server or by Spark Connect.

Exit codes: 0 stopped by SIGINT or SIGTERM; 1 Spark or the server did not start; 2 wrong usage.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, MutableMapping
from contextlib import suppress
from types import FrameType

from pyspark.sql import SparkSession

from acidsql.serve.connect import ConnectServer
from acidsql.serve.options import (
    CONNECT_TOKEN,
    CONNECT_TOKEN_VARIABLE,
    check_address,
    connect_dangers,
    connect_settings,
    dangers,
    hive_settings,
)
from acidsql.serve.server import Server

# Variables that would override the options.
_VARIABLES = (
    "HIVE_SERVER2_THRIFT_BIND_HOST",
    "HIVE_SERVER2_THRIFT_HTTP_PORT",
    "HIVE_SERVER2_THRIFT_PORT",
)
_PREFIX = "spark.hive."


def without_variables(environ: MutableMapping[str, str] = os.environ) -> None:
    """Remove the variables with the address of Hive's server; call this before Spark starts."""
    for name in _VARIABLES:
        environ.pop(name, None)


def hive_options(conf: Mapping[str, str]) -> dict[str, str]:
    """Return Hive's settings from Spark's settings, by Hive's names."""
    return {
        key.removeprefix("spark."): value for key, value in conf.items() if key.startswith(_PREFIX)
    }


def serve(spark: SparkSession, *, host: str, port: int, authentication: str) -> None:
    """Run the Thrift server until SIGINT or SIGTERM.

    Args:
        spark: the session.
        host: address to listen on.
        port: port to listen on; 0 selects a free port.
        authentication: see ``acidsql.serve.options``.

    Raises:
        AcidAnalysisError: MISSING_SERVER_SETTING, THRIFT_SERVER_MISSING, THRIFT_SERVER_NOT_STARTED.
        MetastoreError: the metastore cannot be reached.
    """
    given = hive_options(dict(spark.sparkContext.getConf().getAll()))
    settings = hive_settings(host=host, port=port, authentication=authentication, given=given)
    _warn(dangers(settings))
    check_address(host, port)
    _run(lambda: Server(spark, settings), host)


def serve_connect(spark: SparkSession, *, host: str, port: int, authentication: str) -> None:
    """Run Spark Connect's server until SIGINT or SIGTERM.

    Args:
        spark: the session.
        host: address to listen on.
        port: port to listen on; 0 selects a free port.
        authentication: see ``acidsql.serve.options``.

    Raises:
        AcidAnalysisError: MISSING_SERVER_SETTING, CONNECT_SERVER_MISSING,
            CONNECT_SERVER_NOT_STARTED.
        MetastoreError: the metastore cannot be reached.
    """
    token = spark.sparkContext.getConf().get(CONNECT_TOKEN) or os.environ.get(
        CONNECT_TOKEN_VARIABLE
    )
    settings = connect_settings(
        host=host, port=port, authentication=authentication, has_token=bool(token)
    )
    _warn(connect_dangers(host, has_token=bool(token)))
    check_address(host, port, "CONNECT_SERVER_NOT_STARTED")
    _run(lambda: ConnectServer(spark, settings), host)


def _warn(texts: Iterable[str]) -> None:
    for danger in texts:
        sys.stderr.write(f"warning: {danger}\n")


def _run(start: Callable[[], Server | ConnectServer], host: str) -> None:
    """Start a server, print its address, and stop it at a signal."""
    stopped = threading.Event()

    def stop(_number: int, _frame: FrameType | None) -> None:
        stopped.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    server = start()
    shown = f"[{host}]" if ":" in host else host
    sys.stdout.write(f"listening on {shown}:{server.port}\n")
    with suppress(OSError):  # no process reads the output
        sys.stdout.flush()
    stopped.wait()
    server.stop()
    with suppress(OSError):
        sys.stdout.write("stopped\n")
        sys.stdout.flush()
