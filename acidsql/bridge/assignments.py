"""Values that UPDATE and MERGE assign to columns: resolved and cast by Spark's analyser."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    appended,
    copy_node,
    elements,
    expression_of,
    jvm_class,
    scala_seq,
    session_state,
)
from acidsql.bridge.plans import frame_of, logical_plan

# Name of the attribute of a value that is computed apart from its casts.
_COMPUTED = "__acidsql_computed"


def align(
    spark: SparkSession, method: str, attributes: JavaObject, assignments: JavaObject
) -> JavaObject:
    """Align assignments with a table's columns by Spark's ``AssignmentUtils``: one value per
    column, in order, cast by the store-assignment policy.
    """
    utils = jvm_class(spark, f"{CATALYST}.analysis.AssignmentUtils")
    java_class = jvm_class(spark, "java.lang.Class").forName(f"{CATALYST}.analysis.AssignmentUtils")
    arity = next(m.getParameterCount() for m in java_class.getMethods() if m.getName() == method)
    return getattr(utils, method)(attributes, assignments, *([False] * (arity - 2)))


def never_resolved(spark: SparkSession) -> Expression:
    """Build an expression that no analyser rule resolves and none rejects: a cast that does not
    exist.
    """
    return session_state(spark).sqlParser().parseExpression("CAST(array(1) AS INT)")


def analyze_partly(
    spark: SparkSession, plan: LogicalPlan, field: str, condition: Expression
) -> LogicalPlan:
    """Resolve a command's expressions, but not the casts of its assignments.

    Spark's rule for the casts acts on resolved commands only, so an unresolved condition holds it
    back. The casts of ``AssignmentUtils``, which follow the store-assignment policy, are made
    later.

    Args:
        field: name of the command's condition.
        condition: value of that field, not resolved.
    """
    held = copy_node(spark, plan, {field: condition})
    return session_state(spark).analyzer().execute(held)


def apart(spark: SparkSession, assignments: JavaObject) -> tuple[JavaObject, list[JavaObject]]:
    """Set the values apart that are not deterministic, so that each is computed once for a row.

    Spark casts a struct or a map by its parts, and the value would be computed for each of them.

    Returns:
        The assignments, with a new attribute in the place of such a value; and what assigns the
        values to these attributes.
    """
    kept, computed = [], []
    for assignment in elements(assignments):
        value = assignment.value()
        if value.deterministic():
            kept.append(assignment)
            continue
        attribute = alias(spark, value, _COMPUTED).toAttribute()
        computed.append(copy_node(spark, assignment, {"key": attribute}))
        kept.append(copy_node(spark, assignment, {"value": attribute}))
    return scala_seq(spark, kept), computed


def with_columns(
    spark: SparkSession, rows: LogicalPlan, texts: Sequence[str], values: Sequence[JavaObject]
) -> LogicalPlan:
    """Add columns to rows, given as SQL texts and as Catalyst aliases."""
    parsed = session_state(spark).sqlParser().parsePlan(f"SELECT {', '.join(['*', *texts])}")
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(appended(spark, parsed.projectList(), values), rows)


def with_attributes(frame: DataFrame, values: Sequence[tuple[Expression, Column]]) -> DataFrame:
    """Add columns to a DataFrame under the attributes that other expressions have for them."""
    spark = frame.sparkSession
    named = [
        alias(spark, expression_of(spark, value), str(attribute.name()), attribute.exprId())
        for attribute, value in values
    ]
    return frame_of(spark, with_columns(spark, logical_plan(frame), [], named)) if named else frame
