"""Requirements of an optimised plan: the rows that a statement needs of each of its tables.

Spark's optimizer pushes conditions, also those of joins and subqueries, down to the placeholders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.bridge.conditions import Conjunct, bare, conjunct, parts, rebound
from acidsql.bridge.current_values import CurrentValues, depends_on_now, query_of
from acidsql.bridge.jvm import (
    CATALYST,
    Expression,
    JavaObject,
    LogicalPlan,
    elements,
    jvm_class,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.planning.placeholder_relations import (
    Occurrence,
    filters,
    identity,
    is_over_files,
    nodes,
    occurrence_of,
    partition_names,
)
from acidsql.planning.pruning_subqueries import Lookup, comparison, without_pruning


@dataclass(frozen=True)
class PlaceholderCopy:
    """Conditions that the required rows of one copy of a placeholder meet.

    Attributes:
        conjuncts: conditions with known values.
        lookups: conditions with values that queries have to compute.
    """

    conjuncts: tuple[Conjunct, ...]
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True)
class PlanRequirements:
    """Rows that a plan requires of each placeholder.

    The optimizer copies a placeholder where a common table expression is used several times; a row
    is required if any copy requires it.

    Attributes:
        copies: conditions of each copy of a placeholder; a placeholder is left out if all rows of a
            copy are required.
        count_only: occurrences of which the number of rows alone is required.
        distinct_partitions_only: occurrences of which the partition columns alone are required,
            each combination of values once.
    """

    copies: Mapping[Occurrence, Sequence[PlaceholderCopy]]
    count_only: frozenset[Occurrence] = frozenset()
    distinct_partitions_only: frozenset[Occurrence] = frozenset()


def required_of_placeholders(
    spark: SparkSession, plan: LogicalPlan, current: CurrentValues
) -> PlanRequirements:
    """Optimise a plan over placeholders and read from it the rows that it requires.

    Nothing is known, so all rows are required, if the plan depends on the time at which it runs.

    Args:
        plan: analysed or not; a command is not run.
        current: values that will be put into the plan that runs.
    """
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(query_of(plan), skip)
    analyzed = execution.analyzed()
    fixed = current.put_into(analyzed)
    if depends_on_now(spark, fixed):
        return PlanRequirements(copies={})
    if fixed is not analyzed:
        execution = session_state(spark).executePlan(fixed, skip)
    plan, pruning = without_pruning(spark, execution.optimizedPlan())
    copies = _copies(plan)
    found: dict[Occurrence, list[PlaceholderCopy]] = {}
    for node in filters(plan):
        leaf = node.child()
        occurrence = copies.get(identity(leaf))
        if occurrence is None:
            continue
        # An attribute in a condition has the case of the statement's text, not that of the column.
        condition = rebound(spark, node.condition(), leaf.output(), leaf.output())
        conjuncts, compared = _told(spark, leaf, condition)
        copy = PlaceholderCopy(conjuncts, (*compared, *pruning.get(identity(leaf), ())))
        if copy.conjuncts or copy.lookups:
            found.setdefault(occurrence, []).append(copy)
    counts = Counter(copies.values())

    def with_all_copies(leaves: Iterable[JavaObject]) -> frozenset[Occurrence]:
        """Return the occurrences all of whose copies are among some leaves."""
        own = Counter(copies.get(identity(leaf)) for leaf in leaves)
        return frozenset(
            occurrence for occurrence in counts if own[occurrence] == counts[occurrence]
        )

    aggregates = list(nodes(plan, "Aggregate"))
    return PlanRequirements(
        copies={o: own for o, own in found.items() if len(own) == counts[o]},
        count_only=with_all_copies(_counted(aggregates)),
        distinct_partitions_only=with_all_copies(_distinct_partitions(spark, aggregates)),
    )


def _copies(plan: LogicalPlan) -> dict[int, Occurrence]:
    """Find the placeholders in a plan and its subqueries.

    Returns:
        The occurrence of each copy, by the copy's identity; occurrences whose copies have the same
        identity are left out.
    """
    found: dict[int, Occurrence] = {}
    repeated: set[Occurrence] = set()
    for tree in [plan, *elements(plan.subqueriesAll())]:
        for leaf in elements(tree.collectLeaves()):
            occurrence = occurrence_of(leaf)
            if occurrence is not None:
                repeated |= {occurrence} if identity(leaf) in found else set()
                found[identity(leaf)] = occurrence
    # Conditions cannot be assigned to copies with the same identity.
    return {copy: occurrence for copy, occurrence in found.items() if occurrence not in repeated}


def _counted(aggregates: Iterable[JavaObject]) -> Iterator[JavaObject]:
    """Yield the relations whose rows are aggregated without reading any column.

    Relations with only a projection above them do not count: Spark can add columns, which a later
    step on a DataFrame names, below projections, but not below aggregates.
    """
    for node in aggregates:
        leaf = node.child()
        if simple_name(leaf) == "Project" and leaf.projectList().isEmpty():
            leaf = leaf.child()
        is_plain = node.references().isEmpty() and node.deterministic()
        if is_plain and is_over_files(leaf):
            yield leaf


def _distinct_partitions(
    spark: SparkSession, aggregates: Iterable[JavaObject]
) -> Iterator[JavaObject]:
    """Yield the relations whose partition columns alone are aggregated, by functions for which
    equal rows count once.
    """
    for node in aggregates:
        above, leaf = [node], node.child()
        while simple_name(leaf) in ("Project", "Filter"):
            above.append(leaf)
            leaf = leaf.child()
        if not is_over_files(leaf) or not node.deterministic():
            continue
        partitions, columns = partition_names(leaf), leaf.outputSet()
        asked = [a for n in above for a in elements(n.references().toSeq()) if columns.contains(a)]
        if not asked or not {str(a.name()).lower() for a in asked} <= partitions:
            continue
        pattern = scala_object(spark, f"{CATALYST}.trees.TreePattern").AGGREGATE_EXPRESSION()
        values = elements(node.aggregateExpressions())
        functions = [f for value in values for f in _aggregate_functions(value, pattern)]
        if all(map(_ignores_repetition, functions)):
            yield leaf


def _ignores_repetition(function: Expression) -> bool:
    """Return whether an aggregate function has the same result for one row and for several equal
    ones.
    """
    kind = simple_name(function.aggregateFunction())
    return kind in ("Max", "Min") or bool(function.isDistinct())


def _aggregate_functions(expression: Expression, pattern: JavaObject) -> Iterator[JavaObject]:
    """Yield the aggregate functions in an expression, without those of its subqueries.

    Args:
        pattern: Spark's ``TreePattern`` of expressions that have aggregate functions.
    """
    if simple_name(expression) == "AggregateExpression":
        yield expression
    elif expression.containsPattern(pattern):
        for child in elements(expression.children()):
            yield from _aggregate_functions(child, pattern)


def _told(
    spark: SparkSession, leaf: LogicalPlan, condition: Expression
) -> tuple[tuple[Conjunct, ...], tuple[Lookup, ...]]:
    """Split the conjuncts of a condition on a placeholder into those with known values, and those
    with values of subqueries; others are left out.
    """
    subqueries = scala_object(spark, f"{CATALYST}.expressions.SubqueryExpression")
    conjuncts, compared = [], []
    for part in parts(condition):
        expression, is_coarse = bare(part)
        if not expression.deterministic():
            continue
        if subqueries.hasSubquery(expression):
            found = comparison(spark, leaf, expression)
            compared += [found] if found else []
        else:
            told = conjunct(expression, coarse=is_coarse)
            conjuncts += [told] if told.columns else []
    return tuple(conjuncts), tuple(compared)
