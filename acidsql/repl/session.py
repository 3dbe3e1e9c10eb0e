"""Spark session of the shell."""

from __future__ import annotations

import importlib
import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Mapping, MutableMapping
from importlib.util import find_spec
from pathlib import Path

from pyspark.sql import SparkSession

from acidsql.repl.jvm_output import filtered_stderr
from acidsql.session.java import java_needed

_LOG4J = Path(__file__).with_name("log4j2.properties")
# Loggers of PySpark that repeat each error as JSON with a Java stack trace.
_ERROR_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


def start_session(
    *,
    master: str | None,
    warehouse: Path | None,
    conf: Mapping[str, str],
    environ: MutableMapping[str, str] = os.environ,
) -> SparkSession:
    """Return a Spark session that does not print anything itself.

    Args:
        master: Spark master URL; None for the one in Spark's configuration.
        warehouse: directory of ``spark.sql.warehouse.dir``; None for Spark's default.
        conf: further Spark options, which override the shell's options.
        environ: environment of Spark's process. ``SPARK_LOCAL_IP`` and ``PYSPARK_PYTHON`` are added
            if they are missing.

    Raises:
        AcidAnalysisError: JAVA_NEEDED, Java is missing or too old.
        pyspark.errors.PySparkRuntimeError: Java does not start.
    """
    environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if _runs_here(master, conf, environ):
        environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    for logger in error_loggers():
        silence(logger)
    builder = SparkSession.builder.appName("acidsql")
    if master is not None:
        builder = builder.master(master)
    for key, value in session_options(warehouse=warehouse, conf=conf).items():
        builder = builder.config(key, value)
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    with filtered_stderr(), java_needed(environ):
        spark = builder.getOrCreate()
    if threading.current_thread() is threading.main_thread():
        # PySpark's handler calls the JVM inside the signal handler, possibly in the middle of
        # another call, and cancels every job of the application.
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return spark


def session_options(*, warehouse: Path | None, conf: Mapping[str, str]) -> dict[str, str]:
    """Return the Spark options of the shell's session; ``conf`` overrides the shell's options."""
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if warehouse is not None:
        options["spark.sql.warehouse.dir"] = warehouse.absolute().as_uri()
    options.update(conf)
    quiet = f"-Dlog4j2.configurationFile={_LOG4J.as_uri()}"
    java_options = conf.get("spark.driver.extraJavaOptions", "")
    if "log4j" not in java_options:
        options["spark.driver.extraJavaOptions"] = f"{quiet} {java_options}".strip()
    return options


def _runs_here(master: str | None, conf: Mapping[str, str], environ: Mapping[str, str]) -> bool:
    """Return whether the driver and executors run on this machine, so that loopback is enough."""
    if {"spark.driver.host", "spark.driver.bindAddress"} & conf.keys():
        return False
    configured = master or conf.get("spark.master")
    if configured is None:
        # The spark-defaults.conf of an installation may name a cluster.
        return not {"SPARK_HOME", "SPARK_CONF_DIR"} & environ.keys()
    return configured.startswith("local")


def error_loggers() -> list[logging.Logger]:
    """Return the loggers that repeat each error as JSON; Spark 3 has none.

    They must have PySpark's class. PySpark calls them with special arguments, for which a plain
    logger would raise TypeError.
    """
    if find_spec("pyspark.logger") is None:
        return []
    make = importlib.import_module("pyspark.logger").PySparkLogger.getLogger
    return [make(name) for name in _ERROR_LOGGERS]


def silence(logger: logging.Logger) -> None:
    """Prevent a logger from writing anything."""
    logger.setLevel(logging.CRITICAL + 1)
