"""Functions that planning uses to read and change Catalyst's plans and expressions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    elements,
    jvm_class,
    scala_map,
    scala_seq,
    session_state,
)
from acidsql.bridge.jvm_planning import copy_node
from acidsql.bridge.plans import frame_of

Node = TypeVar("Node", LogicalPlan, Expression)

# Metadata key under which Spark stores the declared type of a CHAR or VARCHAR column.
_CHAR_VARCHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"


def operands(expression: Expression) -> tuple[Expression, Expression]:
    """Return the left and the right operand of a binary expression."""
    return expression.left(), expression.right()


def is_deterministic(node: Node) -> bool:
    """Return whether Spark considers a plan or an expression deterministic."""
    return bool(node.deterministic())


def attributes_of(plan: LogicalPlan) -> list[Expression]:
    """Return the attributes of a plan's rows."""
    return elements(plan.output())


def output_of(plan: LogicalPlan) -> JavaObject:
    """Return the attributes of a plan's rows as a Scala ``Seq``, for ``rebound``."""
    return plan.output()


def data_type_of(expression: Expression) -> str:
    """Return the SQL text of an expression's type."""
    return str(expression.dataType().sql())


def refers_to_columns(node: Node) -> bool:
    """Return whether an expression, or the top node of a plan, refers to any attribute."""
    return not node.references().isEmpty()


def refers_only_to(expression: Expression, plan: LogicalPlan) -> bool:
    """Return whether a plan has all attributes of an expression."""
    return bool(expression.references().subsetOf(plan.outputSet()))


def has_char_columns(expression: Expression) -> bool:
    """Return whether an expression refers to CHAR or VARCHAR columns."""
    columns = elements(expression.references().toSeq())
    return any(a.metadata().contains(_CHAR_VARCHAR_KEY) for a in columns)


def parse_expression(spark: SparkSession, text: str) -> Expression:
    """Parse a SQL expression, without resolving it."""
    return session_state(spark).sqlParser().parseExpression(text)


def substitute(
    spark: SparkSession, tree: Node, pairs: Sequence[tuple[JavaObject, JavaObject]]
) -> Node:
    """Replace nodes of a tree.

    Args:
        spark: the session.
        tree: the plan or expression.
        pairs: each a node and its replacement.
    """
    return tree.transform(scala_map(spark, pairs))


def compute_values(
    spark: SparkSession, values: Sequence[Expression], plan: LogicalPlan
) -> DataFrame:
    """Build a DataFrame that evaluates expressions over the rows of an analysed plan.

    Its columns have the names ``k0``, ``k1`` and so on.
    """
    named = [alias(spark, value, f"k{i}") for i, value in enumerate(values)]
    return frame_of(spark, _project(spark, named, plan))


def with_attributes_of(spark: SparkSession, plan: LogicalPlan, other: LogicalPlan) -> LogicalPlan:
    """Project a plan to the attribute names and expression ids of another plan.

    Args:
        spark: the session.
        plan: the plan.
        other: the other plan, with the same number of columns in the same order.
    """
    columns = zip(attributes_of(plan), attributes_of(other), strict=True)
    named = [alias(spark, value, str(a.name()), a.exprId()) for value, a in columns]
    return _project(spark, named, plan)


def left_of(joined: LogicalPlan) -> LogicalPlan:
    """Return the left side of a ``Join``."""
    return joined.left()


def with_left(spark: SparkSession, joined: LogicalPlan, left: LogicalPlan) -> LogicalPlan:
    """Replace the left side of a ``Join`` by a plan with the same attributes."""
    return copy_node(spark, joined, {"left": left})


def _project(spark: SparkSession, columns: Sequence[Expression], plan: LogicalPlan) -> LogicalPlan:
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(scala_seq(spark, columns), plan)
