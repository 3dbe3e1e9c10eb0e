"""Subqueries whose values prune the partitions of a table.

These subqueries run while the statement is planned, so each must return the same rows every time.
They come from two places: Spark's dynamic partition pruning adds subqueries above joined tables,
and conditions of a statement compare partition columns with scalar subqueries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.format.identifiers import folded
from acidsql.limits import limits
from acidsql.planning.placeholder_relations import (
    Occurrence,
    filters,
    identity,
    occurrence_of,
    outline,
    partition_names,
)
from acidsql.planning.value_predicates import is_plain, one_of, only_one

# Kinds of nodes whose rows are the same each time if their expressions are deterministic.
_CONSTANT = ("LocalRelation", "OneRowRelation", "Range")
_REPEATABLE = ("Project", "Filter", "Join", "Union", "Aggregate", "LogicalRelation", *_CONSTANT)


@dataclass(frozen=True)
class Query:
    """Query within an optimised plan that returns the same rows each time.

    Attributes:
        plan: plan of the query.
        placeholders: leaves of the plan that are placeholders, with their occurrences; at least
            one.
    """

    plan: bridge.LogicalPlan
    placeholders: Sequence[tuple[bridge.LogicalPlan, Occurrence]]


@dataclass(frozen=True)
class Membership:
    """Condition that a value in each required row of a placeholder is in a query's result.

    Attributes:
        value: expression over the partition columns of the placeholder.
        columns: all attributes of the placeholder (Scala ``Seq``).
        query: query that computes the values.
        key: expression over the attributes of the query that gives the values.
    """

    value: bridge.Expression
    columns: bridge.JavaObject
    query: Query
    key: bridge.Expression


@dataclass(frozen=True)
class SubqueryCondition:
    """Condition with scalar subqueries on the required rows of a placeholder.

    Attributes:
        condition: expression over the partition columns of the placeholder.
        values: scalar subqueries in the condition, each with its query.
    """

    condition: bridge.Expression
    values: Sequence[tuple[bridge.Expression, Query]]


Lookup = Membership | SubqueryCondition


def without_pruning(
    spark: SparkSession, plan: bridge.LogicalPlan
) -> tuple[bridge.PlanOutline, Mapping[int, Sequence[Membership]]]:
    """Remove Spark's dynamic pruning subqueries from a plan.

    Returns:
        The outline of the plan, and the conditions of the subqueries that can run during planning,
        by the identity of the placeholder that they filter.
    """
    whole = outline(spark, plan)
    memberships: dict[int, list[Membership]] = {}
    dropped: list[bridge.Expression] = []
    for node, leaf, relation in filters(whole):
        for part in node.conjuncts:
            if part.kind != "DynamicPruningSubquery":
                continue
            dropped.append(part.condition)
            pruning = bridge.dynamic_pruning(spark, part.condition)
            query = _query(spark, pruning.plan)
            if query:
                member = Membership(
                    value=pruning.value,
                    columns=bridge.output_of(leaf.plan),
                    query=query,
                    key=pruning.key,
                )
                memberships.setdefault(identity(relation), []).append(member)
    if not dropped:
        return whole, {}
    return outline(spark, bridge.without_conditions(spark, plan, dropped)), memberships


def comparison(
    spark: SparkSession, relation: bridge.FileRelation, condition: bridge.FilterConjunct
) -> SubqueryCondition | None:
    """Build the ``SubqueryCondition`` of a condition with subqueries.

    Returns:
        None if the condition has other columns than partition columns, or a subquery that is not
        scalar or cannot run during planning.
    """
    columns = {folded(name) for name in condition.columns}
    if not columns or not columns <= partition_names(relation):
        return None
    values: list[tuple[bridge.Expression, Query]] = []
    for subquery in bridge.subqueries_in(spark, condition.expression):
        query = _query(spark, subquery.scalar) if subquery.scalar is not None else None
        if query is None or not is_plain(bridge.attributes_of(query.plan)[0]):
            return None
        if not any(bridge.same(subquery.node, other) for other, _ in values):
            values.append((subquery.node, query))
    return SubqueryCondition(condition.expression, values)


def _query(spark: SparkSession, plan: bridge.LogicalPlan) -> Query | None:
    """Return the query of a subquery's plan; None if its rows may differ from run to run."""
    whole = outline(spark, plan)
    placeholders = {}
    for node in whole.root.walk():
        occurrence = occurrence_of(node)
        if node.relation is not None and occurrence is not None:
            placeholders[identity(node.relation)] = node.plan, occurrence
        elif not node.children and node.kind not in _CONSTANT:
            return None
    if not placeholders or whole.subqueries or not all(map(_is_repeatable, whole.root.walk())):
        return None
    return Query(plan, tuple(placeholders.values()))


def _is_repeatable(node: bridge.PlanNode) -> bool:
    """Return whether a node returns the same rows each time if the nodes below it do.

    A node that chooses rows by their order or sums floating-point numbers can return other rows.
    """
    return node.kind in _REPEATABLE and node.is_deterministic and not node.has_fractions


def evaluate(
    spark: SparkSession, lookup: Lookup, scan: Callable[[Occurrence], bridge.UnresolvedPlan | None]
) -> bridge.Conjunct | None:
    """Run the queries of a lookup and return its condition on partitions.

    Args:
        scan: builds a plan of the rows of the table that a placeholder replaces, with the same
            columns; returns None if there are too many rows.

    Returns:
        None if values of the type cannot be compared, or a query would take too long.
    """
    if isinstance(lookup, SubqueryCondition):
        return _compared(spark, lookup, scan)
    if not is_plain(lookup.value):
        return None
    query = _over_rows(spark, lookup.query, scan)
    if query is None:
        return None
    distinct_values = bridge.compute_values(spark, [lookup.key], query).distinct()
    values = bridge.arrow_table(distinct_values).column(0)
    condition = one_of(values, bridge.data_type_of(lookup.value), limits().pruning_values)
    value = bridge.rebound(spark, lookup.value, lookup.columns, lookup.columns)
    return bridge.conjunct(condition.of(spark, value))


def _compared(
    spark: SparkSession,
    lookup: SubqueryCondition,
    scan: Callable[[Occurrence], bridge.UnresolvedPlan | None],
) -> bridge.Conjunct | None:
    substitutes = []
    for node, query in lookup.values:
        plan = _over_rows(spark, query, scan)
        if plan is None:
            return None
        values = bridge.arrow_table(bridge.frame_of(spark, plan)).column(0)
        if len(values) > 1:
            return None  # Spark raises the error when the statement runs
        value = only_one(values, bridge.data_type_of(node))
        substitutes.append((node, bridge.parse_expression(spark, value)))
    return bridge.conjunct(bridge.substitute(spark, lookup.condition, substitutes))


def _over_rows(
    spark: SparkSession, query: Query, scan: Callable[[Occurrence], bridge.UnresolvedPlan | None]
) -> bridge.LogicalPlan | None:
    """Replace the placeholders of a query by scans; return None if a table is too large."""
    rows = {}
    for _, occurrence in query.placeholders:
        if occurrence not in rows:
            plan = scan(occurrence)
            if plan is None:
                return None
            rows[occurrence] = plan
    scans = [
        (leaf, bridge.with_attributes_of(spark, rows[occurrence].analyzed(), leaf))
        for leaf, occurrence in query.placeholders
    ]
    return bridge.substitute(spark, query.plan, scans)
