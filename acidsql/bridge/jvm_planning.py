"""Parts of planning that run in the JVM, each in one call."""

from __future__ import annotations

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import Expression, JavaObject


def jvm_planning(spark: SparkSession) -> JavaObject:
    """Return the object whose methods they are.

    Raises:
        AcidAnalysisError: this release of Spark lacks what they use (UNSUPPORTED_SPARK_VERSION).
    """
    return only_object(spark, "Planning.java", "Planning")


def rebound(
    spark: SparkSession, expression: Expression, output: JavaObject, other: JavaObject
) -> Expression:
    """Replace the attributes of an output in an expression by those at the same positions of
    another.

    One attribute may occur in an expression in several forms, of other case, qualifier or
    nullability; all of them are replaced.

    Args:
        output: Scala ``Seq`` of attributes, which the expression refers to.
        other: Scala ``Seq`` of attributes, as many; where the expression does not refer to the
            last ones, it may be shorter.
    """
    return jvm_planning(spark).rebound(expression, output, other)
