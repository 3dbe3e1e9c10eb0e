"""Parts of planning that run in the JVM, each in one call."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import Expression, JavaObject, LogicalPlan


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


def fill(
    spark: SparkSession, plan: LogicalPlan, option: str, plans: Mapping[str, LogicalPlan]
) -> LogicalPlan:
    """Put plans in the places of relations over files in an analysed plan and its subqueries.

    What stands above a relation keeps its attributes, so that nothing has to be analysed again.

    Args:
        option: of the relations that are replaced.
        plans: analysed plans with the columns of the relation, by the value of that option.
    """
    return jvm_planning(spark).fill(plan, option, list(plans), list(plans.values()))
