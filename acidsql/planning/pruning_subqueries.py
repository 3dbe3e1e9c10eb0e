"""What other parts of a plan say of the partitions that it needs of a table.

These parts are run when the statement is planned, so only what gives the same rows each time says
anything. Spark has them run with the statement: it puts subqueries of its own above tables that are
joined, and compares with the values of others.
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

# Nodes of plans that give the same rows each time if their expressions do.
_CONSTANT = ("LocalRelation", "OneRowRelation", "Range")
_REPEATABLE = ("Project", "Filter", "Join", "Union", "Aggregate", "LogicalRelation", *_CONSTANT)


@dataclass(frozen=True)
class Query:
    """Another part of a plan, optimised; it gives the same rows each time.

    Attributes:
        placeholders: its leaves that are placeholders, with the occurrence of each; at least one.
    """

    plan: LogicalPlan
    placeholders: Sequence[tuple[JavaObject, Occurrence]]


@dataclass(frozen=True)
class Membership:
    """Rows that a plan needs of a placeholder have a value that a query gives.

    Attributes:
        value: Java expression over the partition columns of the placeholder.
        columns: all attributes of the placeholder.
        key: the query's value: Java expression over its attributes.
    """

    value: Expression
    columns: JavaObject
    query: Query
    key: JavaObject


@dataclass(frozen=True)
class Comparison:
    """Rows that a plan needs of a placeholder meet a condition on the values of queries of one row.

    Attributes:
        condition: Java expression over the partition columns of the placeholder.
        values: the Java expressions in it that stand for a query's value, with the query.
    """

    condition: Expression
    values: Sequence[tuple[JavaObject, Query]]


Lookup = Membership | Comparison


def without_pruning(
    spark: SparkSession, plan: LogicalPlan
) -> tuple[JavaObject, Mapping[int, Sequence[Membership]]]:
    """A plan without the subqueries by which Spark would choose partitions when it runs, and these
    by the identity of the placeholder that each is about.
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
    """The value of the other part."""
    if differences(spark).has_several_pruning_keys:
        return pruning.buildKeys().apply(pruning.broadcastKeyIndices().head())
    return pruning.buildKeys().apply(pruning.broadcastKeyIndex())


def comparison(spark: SparkSession, leaf: LogicalPlan, condition: Expression) -> Comparison | None:
    """Find what a condition with subqueries says of the partitions of a placeholder.

    Returns:
        None if it says nothing, or only when it runs.
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
    """The subqueries in an expression that has some.

    Args:
        pattern: Spark's mark of expressions with subqueries.
    """
    inner = [c for c in elements(expression.children()) if c.containsPattern(pattern)]
    if not inner:
        yield expression
    for child in inner:
        yield from _subqueries(child, pattern)


def _query(plan: LogicalPlan) -> Query | None:
    """A part of a plan that can be run by itself; None if it may give other rows each time."""
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
    """Whether a plan gives the same rows each time: rows that are chosen by their order may be
    others, and so may sums of floating-point numbers.
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
    """The condition on partitions that a lookup makes, for which its queries are run; None if the
    values are of a type that is not compared, or a query takes too long.

    Args:
        scan: gives the rows that a placeholder stands for, with the same columns; None if there
            are many.
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
            return None  # an error, when the statement runs
        literal = only_one(values, str(node.dataType().sql()))
        found.append((node, session_state(spark).sqlParser().parseExpression(literal)))
    return conjunct(lookup.condition.transform(scala_map(spark, found)))


def _over_rows(
    spark: SparkSession, query: Query, scan: Callable[[Occurrence], UnresolvedPlan | None]
) -> JavaObject | None:
    """The plan of a query over rows in place of its placeholders; None if some are many."""
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
