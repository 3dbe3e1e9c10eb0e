"""Processes that were forked from the one that started Spark.

They inherit its connection to the JVM. If both used it, each would read answers of the other's.
"""

from __future__ import annotations

import os

from pyspark import SparkContext
from pyspark.sql import SparkSession

from acidsql.errors import AcidAnalysisError

# Contexts of the processes that this one was forked from.
_inherited: list[SparkContext] = []


def _after_fork_in_child() -> None:
    context = SparkContext._active_spark_context
    if context is not None and context not in _inherited:
        _inherited.append(context)


os.register_at_fork(after_in_child=_after_fork_in_child)


def check_process(spark: SparkSession) -> None:
    """Check that this process started the Spark application of a session.

    Raises:
        AcidAnalysisError: SESSION_OF_ANOTHER_PROCESS, this is a forked child.
    """
    if spark.sparkContext in _inherited:
        raise AcidAnalysisError(
            "SESSION_OF_ANOTHER_PROCESS",
            f"process {os.getpid()} was forked from the one that started Spark, and cannot use its "
            "connection to Spark: use threads, or start processes with multiprocessing's method "
            "'spawn', each with a Spark session of its own",
        )
