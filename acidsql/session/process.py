"""Checks for Spark sessions: acidsql needs a classic session that this process has started.

A forked process inherits the connection to the JVM. If both processes used this connection, each
would read answers for the other.
"""

from __future__ import annotations

import os

from pyspark import SparkContext
from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError, page
from acidsql.syntax.places import shortened

# Contexts of the parent processes that forked this process.
_inherited: list[SparkContext] = []


def _after_fork_in_child() -> None:
    context = SparkContext._active_spark_context
    if context is not None and context not in _inherited:
        _inherited.append(context)


os.register_at_fork(after_in_child=_after_fork_in_child)


def check_session(spark: object) -> None:
    """Check that a session is a classic Spark session.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SESSION.
    """
    if isinstance(spark, SparkSession):
        return
    if isinstance(spark, str):
        raise AcidAnalysisError(
            "UNSUPPORTED_SESSION",
            f"the first argument is the text {shortened(spark)!r}, and must be the Spark session: "
            "call acidsql.sql(spark, text)",
        )
    kind = type(spark)
    if kind.__module__.startswith("pyspark.sql.connect"):
        raise AcidAnalysisError(
            "UNSUPPORTED_SESSION",
            "this is a session of Spark Connect, and acidsql needs one that has started Spark "
            "itself: let the server be `acidsql serve --connect`, whose clients use spark.sql, or "
            f"see {page('serve')}",
        )
    raise AcidAnalysisError(
        "UNSUPPORTED_SESSION",
        f"the first argument is of the type {kind.__name__}, and must be a SparkSession",
    )


def check_process(spark: SparkSession) -> None:
    """Check that this process started the Spark application of a session.

    Raises:
        AcidAnalysisError: SESSION_OF_ANOTHER_PROCESS, this is a forked child; UNSUPPORTED_SESSION.
    """
    check_session(spark)
    if spark.sparkContext in _inherited:
        raise AcidAnalysisError(
            "SESSION_OF_ANOTHER_PROCESS",
            f"process {os.getpid()} was forked from the one that started Spark, and cannot use its "
            "connection to Spark: use threads, or start processes with multiprocessing's method "
            "'spawn', each with a Spark session of its own",
        )
