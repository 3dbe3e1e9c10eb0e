"""Planning steps that run in the JVM, with one call each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pyspark.sql import SparkSession

from acidsql.bridge.java_sources import only_object
from acidsql.bridge.jvm import Expression, JavaObject, LogicalPlan, java_list, simple_name
from acidsql.bridge.spark_versions import missing_internal


def jvm_planning(spark: SparkSession) -> JavaObject:
    """Return the Java object that implements these steps.

    Raises:
        AcidAnalysisError: this release of Spark lacks a class or method that it uses
            (UNSUPPORTED_SPARK_VERSION).
    """
    return only_object(spark, "Planning.java", "Planning")


def field_names(spark: SparkSession, node: JavaObject) -> list[str]:
    """Return the names of the constructor arguments of a case class, in order."""
    return str(jvm_planning(spark).fieldNames(node)).split("\0")


def copy_node(spark: SparkSession, node: JavaObject, changes: Mapping[str, Any]) -> JavaObject:
    """Copy a tree node with new values for some fields.

    Raises:
        AcidAnalysisError: this release of Spark lacks a field (UNSUPPORTED_SPARK_VERSION).
    """
    values = java_list(spark, list(changes.values()))
    copy = jvm_planning(spark).copied(node, "\0".join(changes), values)
    if copy is None:
        known = field_names(spark, node)
        missing = next(field for field in changes if field not in known)
        raise missing_internal(spark.version, f"{simple_name(node)}.{missing}")
    return copy


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
