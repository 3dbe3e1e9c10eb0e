"""Accessors of Catalyst's trees: what planning reads from plans and expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pyspark.sql import DataFrame, SparkSession

from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    copy_node,
    elements,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import frame_of

Node = TypeVar("Node", LogicalPlan, Expression)

_NODE_LINE = re.compile(r"^(\d+) [ :+|-]*(\w+)", re.MULTILINE)
# An attribute as Spark prints it: its name, the expression id, and L for BIGINT.
_ATTRIBUTE_LINE = re.compile(r"^(.*)#\d+L?$", re.MULTILINE)
# Where Spark keeps the declared type of a CHAR or VARCHAR column.
_CHAR_VARCHAR_KEY = "__CHAR_VARCHAR_TYPE_STRING"


@dataclass(frozen=True)
class AggregateFunction:
    """Aggregate function in an ``Aggregate``.

    Attributes:
        name: of its class, such as ``Max``.
        is_distinct: whether it has DISTINCT.
    """

    name: str
    is_distinct: bool


def children(node: Node) -> list[Node]:
    """Return the children of a plan or an expression, from left to right."""
    return elements(node.children())


def child(plan: LogicalPlan) -> LogicalPlan:
    """Return the only child of a plan."""
    return plan.child()


def operands(expression: Expression) -> tuple[Expression, Expression]:
    """Return the left and the right operand of a binary expression."""
    return expression.left(), expression.right()


def leaves(plan: LogicalPlan) -> list[LogicalPlan]:
    """Return the leaves of a plan, without those of its subqueries."""
    return elements(plan.collectLeaves())


def with_subqueries(plan: LogicalPlan) -> list[LogicalPlan]:
    """Return a plan and the plans of all its subqueries."""
    return [plan, *elements(plan.subqueriesAll())]


def has_subqueries(plan: LogicalPlan) -> bool:
    """Return whether an expression of a plan has a subquery."""
    return not plan.subqueriesAll().isEmpty()


def nodes_of_kind(plan: LogicalPlan, kind: str) -> Iterator[LogicalPlan]:
    """Yield the nodes of a kind, in subqueries too.

    Nodes are found in the plan's text, where a literal with line breaks can hide those after it.
    """
    lines = _NODE_LINE.findall(str(plan.numberedTreeString()))
    for number in sorted({int(n) for n, name in lines if name == kind}):
        node = plan.apply(number)
        if node is not None and simple_name(node) == kind:
            yield node


def is_deterministic(node: Node) -> bool:
    """Return whether Spark takes a plan or an expression to be deterministic."""
    return bool(node.deterministic())


def filter_condition(plan: LogicalPlan) -> Expression:
    """Return the condition of a ``Filter``."""
    return plan.condition()


def is_empty_projection(plan: LogicalPlan) -> bool:
    """Return whether a plan is a ``Project`` to no columns."""
    return simple_name(plan) == "Project" and bool(plan.projectList().isEmpty())


def attributes_of(plan: LogicalPlan) -> list[Expression]:
    """Return the attributes of a plan's rows."""
    return elements(plan.output())


def output_of(plan: LogicalPlan) -> JavaObject:
    """Return the attributes of a plan's rows as a Scala ``Seq``, as ``rebound`` takes them."""
    return plan.output()


def data_type_of(expression: Expression) -> str:
    """Return the type of an expression as SQL."""
    return str(expression.dataType().sql())


def column_names(node: Node) -> list[str]:
    """Return the names of the attributes that a plan's own expressions, or an expression, refer
    to.
    """
    return [str(a.name()) for a in elements(node.references().toSeq())]


def required_columns(node: LogicalPlan, relation: LogicalPlan) -> list[str]:
    """Return the names of those columns of a relation that a plan's own expressions refer to."""
    columns = relation.outputSet()
    return [str(a.name()) for a in elements(node.references().toSeq()) if columns.contains(a)]


def names_referred_to(nodes: Sequence[LogicalPlan]) -> frozenset[str]:
    """Return the names of the attributes that the own expressions of plans refer to, in lower
    case; few calls for many names.
    """
    text = "\n".join(str(node.references().toSeq().mkString("\n")) for node in nodes)
    return frozenset(name.lower() for name in _ATTRIBUTE_LINE.findall(text))


def refers_to_columns(node: Node) -> bool:
    """Return whether a plan's own expressions, or an expression, refer to any attribute."""
    return not node.references().isEmpty()


def refers_only_to(expression: Expression, plan: LogicalPlan) -> bool:
    """Return whether all attributes in an expression are those of a plan."""
    return bool(expression.references().subsetOf(plan.outputSet()))


def has_char_columns(expression: Expression) -> bool:
    """Return whether an expression refers to CHAR or VARCHAR columns."""
    columns = elements(expression.references().toSeq())
    return any(a.metadata().contains(_CHAR_VARCHAR_KEY) for a in columns)


def is_file_relation(plan: LogicalPlan) -> bool:
    """Return whether a node is a relation over files."""
    if simple_name(plan) != "LogicalRelation":
        return False
    return simple_name(plan.relation()) == "HadoopFsRelation"


def relation_option(relation: LogicalPlan, key: str) -> str | None:
    """Return an option of a relation over files."""
    value = relation.relation().options().get(key)
    return str(value.get()) if value.isDefined() else None


def partition_column_names(relation: LogicalPlan) -> list[str]:
    """Return the names of the partition columns of a relation over files."""
    return [str(name) for name in relation.relation().partitionSchema().fieldNames()]


def first_column_id(relation: LogicalPlan) -> int:
    """Return the expression id of the first column, which differs between copies of a relation."""
    return int(relation.output().head().exprId().id())


def aggregate_functions(spark: SparkSession, aggregate: LogicalPlan) -> list[AggregateFunction]:
    """Return the aggregate functions of an ``Aggregate``, without those in its subqueries."""
    pattern = scala_object(spark, f"{CATALYST}.trees.TreePattern").AGGREGATE_EXPRESSION()
    values = elements(aggregate.aggregateExpressions())
    return [
        AggregateFunction(simple_name(found.aggregateFunction()), bool(found.isDistinct()))
        for value in values
        for found in _with_pattern(value, pattern, "AggregateExpression")
    ]


def _with_pattern(expression: Expression, pattern: JavaObject, kind: str) -> Iterator[Expression]:
    if simple_name(expression) == kind:
        yield expression
    elif expression.containsPattern(pattern):
        for inner in children(expression):
            yield from _with_pattern(inner, pattern, kind)


def parse_expression(spark: SparkSession, text: str) -> Expression:
    """Parse an expression of SQL; it is not resolved."""
    return session_state(spark).sqlParser().parseExpression(text)


def substitute(
    spark: SparkSession, tree: Node, pairs: Sequence[tuple[JavaObject, JavaObject]]
) -> Node:
    """Replace nodes of a tree.

    Args:
        pairs: of a node and its replacement.
    """
    return tree.transform(scala_map(spark, pairs))


def compute_values(
    spark: SparkSession, values: Sequence[Expression], plan: LogicalPlan
) -> DataFrame:
    """Build the DataFrame of expressions over the rows of an analysed plan; its columns are named
    ``k0``, ``k1`` and so on.
    """
    named = [alias(spark, value, f"k{i}") for i, value in enumerate(values)]
    return frame_of(spark, _project(spark, named, plan))


def with_attributes_of(spark: SparkSession, plan: LogicalPlan, other: LogicalPlan) -> LogicalPlan:
    """Project a plan to the names and expression ids of the attributes of another one.

    Args:
        other: has as many columns, in the same order.
    """
    columns = zip(attributes_of(plan), attributes_of(other), strict=True)
    named = [alias(spark, own, str(a.name()), a.exprId()) for own, a in columns]
    return _project(spark, named, plan)


def filter_left(
    spark: SparkSession, joined: LogicalPlan, conditions: Sequence[Expression]
) -> LogicalPlan:
    """Filter the left side of a ``Join``.

    Args:
        conditions: expressions over its attributes, all of which have to be met; at least one.
    """
    both = jvm_class(spark, f"{CATALYST}.expressions.And")
    whole, *others = conditions
    for other in others:
        whole = both(whole, other)
    kept = jvm_class(spark, f"{CATALYST}.plans.logical.Filter")
    return copy_node(spark, joined, {"left": kept(whole, joined.left())})


def left_output_of(joined: LogicalPlan) -> JavaObject:
    """Return the attributes of the left side of a ``Join`` as a Scala ``Seq``."""
    return joined.left().output()


def _project(spark: SparkSession, columns: Sequence[Expression], plan: LogicalPlan) -> LogicalPlan:
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    return project(scala_seq(spark, columns), plan)
