"""Evaluation of TIMESTAMP AS OF by Spark's rules."""

from __future__ import annotations

from collections.abc import Callable

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    LogicalPlan,
    elements,
    jvm_class,
    scala_object,
    scala_seq,
    session_state,
)
from acidsql.bridge.jvm_planning import copy_node
from acidsql.bridge.plans import analyze
from acidsql.bridge.spark_versions import differences
from acidsql.errors import AcidAnalysisError


def timestamp_of(
    spark: SparkSession,
    expression: Expression,
    with_current: Callable[[LogicalPlan], LogicalPlan] = lambda plan: plan,
) -> int:
    """Evaluate the expression after TIMESTAMP AS OF, as ``TimeTravelSpec`` does.

    Args:
        spark: the session.
        expression: the unresolved expression.
        with_current: puts the current time of a statement into an analysed plan.

    Returns:
        Microseconds since 1970 in UTC.

    Raises:
        AcidAnalysisError: UNSUPPORTED_FEATURE.TIME_TRAVEL, the expression has a subquery.
        AnalysisException: the expression is not a timestamp
            (INVALID_TIME_TRAVEL_TIMESTAMP_EXPR), or names a column or function that does not exist.
    """
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    if subqueries.hasSubquery(expression):
        raise AcidAnalysisError(
            "UNSUPPORTED_FEATURE.TIME_TRAVEL",
            "a subquery after TIMESTAMP AS OF is not supported: run it first, and write its result",
        )
    one_row = session_state(spark).sqlParser().parsePlan("SELECT 1")
    (column,) = elements(one_row.projectList())
    value = copy_node(spark, column, {"child": expression})
    plan = copy_node(spark, one_row, {"projectList": scala_seq(spark, [value])})
    analyzed = with_current(analyze(spark, plan))
    (resolved,) = elements(analyzed.projectList())
    some = jvm_class(spark, "scala.Some")(resolved.child())
    state = session_state(spark)
    zone = state.conf()
    if differences(spark).has_zone_of_time_travel:
        zone = zone.sessionLocalTimeZone()
    specification = scala_object(spark, f"{CATALYST}.analysis.TimeTravelSpec")
    time_travel = specification.create(some, scala_object(spark, "scala.None"), zone)
    return int(time_travel.get().timestamp())


def timestamp_of_text(spark: SparkSession, text: str) -> int:
    """Evaluate a SQL expression as ``timestamp_of`` does.

    Raises:
        ParseException: the text is not an expression.
    """
    return timestamp_of(spark, session_state(spark).sqlParser().parseExpression(text))


def expression_text(expression: Expression) -> str:
    """Return a text of an expression; equal expressions have equal texts."""
    return str(expression.toString())
