"""Subqueries in expressions and in the filters of Spark's dynamic partition pruning."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    elements,
    jvm_class,
    scala_map,
    scala_object,
    simple_name,
)
from acidsql.bridge.spark_versions import differences


@dataclass(frozen=True)
class Subquery:
    """Subquery in an expression.

    Attributes:
        node: expression of the subquery, for example a ``ScalarSubquery``.
        scalar: plan of the query if it is scalar and uncorrelated, otherwise None.
    """

    node: Expression
    scalar: LogicalPlan | None


@dataclass(frozen=True)
class DynamicPruning:
    """Subquery that Spark's dynamic partition pruning has added to a filter.

    Attributes:
        value: expression over the filtered relation, which must match a key.
        plan: plan of the query.
        key: expression over the query's attributes that returns the keys.
    """

    value: Expression
    plan: LogicalPlan
    key: Expression


def subqueries_in(spark: SparkSession, expression: Expression) -> list[Subquery]:
    """Return the innermost subqueries of an expression that contains at least one."""
    pattern = scala_object(spark, f"{CATALYST}.trees.TreePattern").PLAN_EXPRESSION()
    return [_subquery(node) for node in _innermost(expression, pattern)]


def _subquery(node: Expression) -> Subquery:
    is_scalar = simple_name(node) == "ScalarSubquery" and node.children().isEmpty()
    return Subquery(node, node.plan() if is_scalar else None)


def _innermost(expression: Expression, pattern: JavaObject) -> list[Expression]:
    inner = [c for c in elements(expression.children()) if c.containsPattern(pattern)]
    return [node for c in inner for node in _innermost(c, pattern)] if inner else [expression]


def dynamic_pruning(spark: SparkSession, condition: Expression) -> DynamicPruning:
    """Read Spark's ``DynamicPruningSubquery``."""
    keys = condition.buildKeys()
    if differences(spark).has_several_pruning_keys:
        key = keys.apply(condition.broadcastKeyIndices().head())
    else:
        key = keys.apply(condition.broadcastKeyIndex())
    return DynamicPruning(condition.pruningKey(), condition.buildQuery(), key)


def without_conditions(
    spark: SparkSession, plan: LogicalPlan, conditions: Sequence[Expression]
) -> LogicalPlan:
    """Replace conditions of a plan and of its subqueries by TRUE.

    Args:
        spark: the session.
        plan: the plan.
        conditions: the conditions, which can contain duplicates.
    """
    always = jvm_class(spark, f"{CATALYST}.expressions.Literal").TrueLiteral()
    distinct: list[Expression] = []
    for condition in conditions:
        if not any(condition == known for known in distinct):
            distinct.append(condition)
    pairs = scala_map(spark, [(condition, always) for condition in distinct])
    return plan.transformAllExpressionsWithSubqueries(pairs)
