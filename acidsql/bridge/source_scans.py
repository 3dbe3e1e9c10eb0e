"""Scans of ``format("acidsql")`` that belong to one query each."""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.spark_versions import differences


def plan_source_scans(spark: SparkSession) -> None:
    """Give each query of a session scans of its own, where this Spark keeps those of a relation.

    Raises:
        AcidAnalysisError: UNSUPPORTED_SPARK_VERSION.
    """
    if not differences(spark).keeps_source_scans:
        return
    rule = only_object(spark, "SourceScans.java", "SourceScans")
    experimental = spark._jsparkSession.experimental()
    rules = experimental.extraOptimizations()
    if not rules.contains(rule):
        getattr(experimental, "extraOptimizations_$eq")(rules.appended(rule))
