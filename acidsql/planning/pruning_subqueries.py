"""Subqueries whose values prune the partitions of a table.

They run when the statement is planned, so only those are used that return the same rows each time.
They come from two places: Spark's dynamic partition pruning adds subqueries above joined tables,
and conditions of a statement compare partition columns with scalar subqueries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.bridge.conditions import Conjunct, conjunct, parts, rebound
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    alias,
    elements,
    jvm_class,
    scala_map,
    scala_object,
    scala_seq,
    session_state,
    simple_name,
)
from acidsql.bridge.plans import frame_of
from acidsql.bridge.rows import arrow_table
from acidsql.bridge.spark_versions import differences
from acidsql.bridge.unresolved_plan import UnresolvedPlan
from acidsql.limits import limits
from acidsql.planning.placeholder_relations import (
    Occurrence,
    filters,
    identity,
    occurrence_of,
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
        plan: of the query.
        placeholders: its leaves that are placeholders, with their occurrences; at least one.
    """

    plan: LogicalPlan
    placeholders: Sequence[tuple[JavaObject, Occurrence]]


@dataclass(frozen=True)
class Membership:
    """Condition that the required rows of a placeholder have a value that is in a query's result.

    Attributes:
        value: expression over the partition columns of the placeholder.
        columns: all attributes of the placeholder (Scala ``Seq``).
        query: that has the values.
        key: expression over the attributes of the query that gives the values.
    """

    value: Expression
    columns: JavaObject
    query: Query
    key: JavaObject


@dataclass(frozen=True)
class Comparison:
    """Condition on the required rows of a placeholder that has scalar subqueries in it.

    Attributes:
        condition: expression over the partition columns of the placeholder.
        values: scalar subqueries in it, each with its query.
    """

    condition: Expression
    values: Sequence[tuple[JavaObject, Query]]


Lookup = Membership | Comparison


def without_pruning(
    spark: SparkSession, plan: LogicalPlan
) -> tuple[JavaObject, Mapping[int, Sequence[Membership]]]:
    """Remove Spark's dynamic pruning subqueries from a plan.

    Returns:
        The plan; and the conditions of the subqueries that can be run ahead, by the identity of the
        placeholder that they filter.
    """
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    if not plan.containsPattern(patterns.DYNAMIC_PRUNING_SUBQUERY()):
        return plan, {}
    found: dict[int, list[Membership]] = {}
    always = jvm_class(spark, f"{CATALYST}.expressions.Literal").TrueLiteral()
    dropped: list[tuple[JavaObject, JavaObject]] = []
    for node in filters(plan):
        for part in parts(node.condition()):
            if simple_name(part) != "DynamicPruningSubquery":
                continue
            if not any(part == other for other, _ in dropped):
                dropped.append((part, always))
            query = _query(part.buildQuery())
            if query:
                member = Membership(
                    value=part.pruningKey(),
                    columns=node.child().output(),
                    query=query,
                    key=_build_key(spark, part),
                )
                found.setdefault(identity(node.child()), []).append(member)
    return plan.transformAllExpressionsWithSubqueries(scala_map(spark, dropped)), found


def _build_key(spark: SparkSession, pruning: JavaObject) -> Expression:
    """Return the expression for the values of a dynamic pruning subquery's query."""
    if differences(spark).has_several_pruning_keys:
        return pruning.buildKeys().apply(pruning.broadcastKeyIndices().head())
    return pruning.buildKeys().apply(pruning.broadcastKeyIndex())


def comparison(spark: SparkSession, leaf: LogicalPlan, condition: Expression) -> Comparison | None:
    """Build the ``Comparison`` of a condition with subqueries.

    Returns:
        None if other columns than partition columns are compared, or a subquery is not scalar or
        cannot be run ahead.
    """
    columns = {str(a.name()).lower() for a in elements(condition.references().toSeq())}
    if not columns or not columns <= partition_names(leaf):
        return None
    values: list[tuple[JavaObject, Query]] = []
    patterns = scala_object(spark, f"{CATALYST}.trees.TreePattern")
    for node in _subqueries(condition, patterns.PLAN_EXPRESSION()):
        is_value = simple_name(node) == "ScalarSubquery" and node.children().isEmpty()
        query = _query(node.plan()) if is_value else None
        if query is None or not is_plain(node.plan().output().head()):
            return None
        if not any(node == other for other, _ in values):
            values.append((node, query))
    return Comparison(condition, values)


def _subqueries(expression: Expression, pattern: JavaObject) -> Iterator[JavaObject]:
    """Yield the subqueries in an expression that has some.

    Args:
        pattern: Spark's ``TreePattern`` of expressions that have subqueries.
    """
    inner = [c for c in elements(expression.children()) if c.containsPattern(pattern)]
    if not inner:
        yield expression
    for child in inner:
        yield from _subqueries(child, pattern)


def _query(plan: LogicalPlan) -> Query | None:
    """Return the query of a subquery's plan; None if it may return other rows each time."""
    found = {}
    for leaf in elements(plan.collectLeaves()):
        occurrence = occurrence_of(leaf)
        if occurrence is not None:
            found[identity(leaf)] = leaf, occurrence
        elif simple_name(leaf) not in _CONSTANT:
            return None
    if not found or not plan.subqueriesAll().isEmpty() or not _is_repeatable(plan):
        return None
    return Query(plan, tuple(found.values()))


def _is_repeatable(plan: LogicalPlan) -> bool:
    """Return whether a plan returns the same rows each time.

    It need not if rows are chosen by their order, or if floating-point numbers are summed.
    """
    kind = simple_name(plan)
    if kind == "Aggregate" and any(
        str(a.dataType().sql()) in ("FLOAT", "DOUBLE") for a in elements(plan.output())
    ):
        return False
    return (
        kind in _REPEATABLE
        and bool(plan.deterministic())
        and all(map(_is_repeatable, elements(plan.children())))
    )


def evaluate(
    spark: SparkSession, lookup: Lookup, scan: Callable[[Occurrence], UnresolvedPlan | None]
) -> Conjunct | None:
    """Run the queries of a lookup and return its condition on partitions.

    Args:
        scan: builds a plan of the rows that a placeholder stands for, with the same columns; None
            if there are too many.

    Returns:
        None if values of the type cannot be compared, or a query would take too long.
    """
    if isinstance(lookup, Comparison):
        return _compared(spark, lookup, scan)
    if not is_plain(lookup.value):
        return None
    query = _over_rows(spark, lookup.query, scan)
    if query is None:
        return None
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    key = scala_seq(spark, [alias(spark, lookup.key, "k")])
    values = arrow_table(frame_of(spark, project(key, query)).distinct()).column(0)
    condition = one_of(values, str(lookup.value.dataType().sql()), limits().pruning_values)
    value = rebound(spark, lookup.value, lookup.columns, lookup.columns)
    return conjunct(condition.of(spark, value))


def _compared(
    spark: SparkSession, lookup: Comparison, scan: Callable[[Occurrence], UnresolvedPlan | None]
) -> Conjunct | None:
    found = []
    for node, query in lookup.values:
        plan = _over_rows(spark, query, scan)
        if plan is None:
            return None
        values = arrow_table(frame_of(spark, plan)).column(0)
        if len(values) > 1:
            return None  # Spark raises the error when the statement runs
        literal = only_one(values, str(node.dataType().sql()))
        found.append((node, session_state(spark).sqlParser().parseExpression(literal)))
    return conjunct(lookup.condition.transform(scala_map(spark, found)))


def _over_rows(
    spark: SparkSession, query: Query, scan: Callable[[Occurrence], UnresolvedPlan | None]
) -> JavaObject | None:
    """Replace the placeholders of a query by scans; return None if a table is too large."""
    rows = {}
    for _, occurrence in query.placeholders:
        if occurrence not in rows:
            found = scan(occurrence)
            if found is None:
                return None
            rows[occurrence] = found
    project = jvm_class(spark, f"{CATALYST}.plans.logical.Project")
    scans = []
    for leaf, occurrence in query.placeholders:
        plan = rows[occurrence].analyzed()
        columns = zip(elements(plan.output()), elements(leaf.output()), strict=True)
        named = [alias(spark, own, str(a.name()), a.exprId()) for own, a in columns]
        scans.append((leaf, project(scala_seq(spark, named), plan)))
    return query.plan.transform(scala_map(spark, scans))
