"""Planning steps that run in the JVM, with one call each."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import Expression, JavaObject, LogicalPlan


def jvm_planning(spark: SparkSession) -> JavaObject:
    """Return the Java object that implements these steps.

    Raises:
        AcidAnalysisError: this release of Spark lacks a class or method that it uses
            (UNSUPPORTED_SPARK_VERSION).
    """
    return only_object(spark, "Planning.java", "Planning")


def rebound(
    spark: SparkSession, expression: Expression, output: JavaObject, other: JavaObject
) -> Expression:
    """Rebind an expression from the attributes of one output to those of another, by position.

    An attribute can occur in an expression in several forms, which differ in case, qualifier or
    nullability. All forms are replaced.

    Args:
        output: Scala ``Seq`` of the attributes that the expression refers to.
        other: Scala ``Seq`` of the new attributes. It can be shorter than ``output`` if the
            expression does not refer to the last attributes.
    """
    return jvm_planning(spark).rebound(expression, output, other)


def fill(
    spark: SparkSession, plan: LogicalPlan, option: str, plans: Mapping[str, LogicalPlan]
) -> LogicalPlan:
    """Replace relations over files in an analysed plan, and in its subqueries, by plans.

    The attributes above a relation stay the same, so Spark does not analyse the plan again.

    Args:
        option: name of the option that identifies the relations to replace.
        plans: analysed plans with the columns of the relation, by the value of that option.
    """
    return jvm_planning(spark).fill(plan, option, list(plans), list(plans.values()))
