"""Read from an optimised plan which rows a statement requires of each of its tables.

Spark's optimizer pushes conditions down to the placeholders, those of joins and subqueries too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from acidsql.bridge.conditions import Conjunct, bare, conjunct, parts, rebound
from acidsql.bridge.current_values import Current, depends_on_now, query_of
from acidsql.bridge.jvm import (
    CATALYST,
    JavaObject,
    elements,
    jvm_class,
    scala_object,
    session_state,
    simple_name,
)
from acidsql.planning.placeholder_relations import (
    filters,
    identity,
    is_over_files,
    nodes,
    number_of,
    partition_names,
)
from acidsql.planning.pruning_subqueries import Lookup, comparison, without_pruning


@dataclass(frozen=True)
class Copy:
    """What a plan asks of a copy of a placeholder: all of it holds of the rows that it needs."""

    conjuncts: tuple[Conjunct, ...]
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True)
class Asked:
    """What a plan asks of its placeholders.

    The optimizer makes copies of a placeholder where a common table expression is used several
    times; what is required is what any of them requires.

    Attributes:
        copies: by the number of a placeholder, what is required of each of its copies;
            placeholders with a copy of which everything is required are left out.
        counted: the numbers of those of which only the number of rows is asked.
        once: the numbers of those of which only the partition columns are asked, and whether there
            is a row with their values: it makes no difference how many.
    """

    copies: Mapping[int, Sequence[Copy]]
    counted: frozenset[int] = frozenset()
    once: frozenset[int] = frozenset()


def required_of_placeholders(spark: SparkSession, plan: JavaObject, current: Current) -> Asked:
    """What a plan asks of its placeholders: nothing is known if that depends on when it runs.

    Args:
        plan: any plan, analysed or not; a command is not run.
        current: what will be put into the plan that runs.
    """
    skip = jvm_class(spark, "org.apache.spark.sql.execution.CommandExecutionMode").SKIP()
    execution = session_state(spark).executePlan(query_of(plan), skip)
    analyzed = execution.analyzed()
    fixed = current.put_into(analyzed)
    if depends_on_now(spark, fixed):
        return Asked(copies={})
    if fixed is not analyzed:
        execution = session_state(spark).executePlan(fixed, skip)
    plan, pruning = without_pruning(spark, execution.optimizedPlan())
    copies = _copies(plan)
    found: dict[int, list[Copy]] = {}
    for node in filters(plan):
        leaf = node.child()
        occurrence = copies.get(identity(leaf))
        if occurrence is None:
            continue
        # A reference has the case that it is written in.
        condition = rebound(spark, node.condition(), leaf.output(), leaf.output())
        conjuncts, compared = _told(spark, leaf, condition)
        copy = Copy(conjuncts, (*compared, *pruning.get(identity(leaf), ())))
        if copy.conjuncts or copy.lookups:
            found.setdefault(occurrence, []).append(copy)
    number = Counter(copies.values())

    def all_of_them(leaves: Iterable[JavaObject]) -> frozenset[int]:
        counts = Counter(copies.get(identity(leaf)) for leaf in leaves)
        return frozenset(n for n in number if counts[n] == number[n])

    aggregates = list(nodes(plan, "Aggregate"))
    return Asked(
        copies={n: own for n, own in found.items() if len(own) == number[n]},
        counted=all_of_them(_counted(aggregates)),
        once=all_of_them(_asked_once(spark, aggregates)),
    )


def _copies(plan: JavaObject) -> dict[int, int]:
    """The placeholders in a plan and its subqueries: the number of each by the copy's identity."""
    found: dict[int, int] = {}
    twice = set()
    for tree in [plan, *elements(plan.subqueriesAll())]:
        for leaf in elements(tree.collectLeaves()):
            number = number_of(leaf)
            if number is not None:
                twice |= {number} if identity(leaf) in found else set()
                found[identity(leaf)] = number
    # Copies that cannot be told apart are not known to have conditions.
    return {identity: n for identity, n in found.items() if n not in twice}


def _counted(aggregates: Iterable[JavaObject]) -> Iterator[JavaObject]:
    """Relations whose rows are aggregated without a look at any value.

    Not those whose rows have a projection above them only: Spark looks for columns that a step
    added to a DataFrame names below its projections, but not below aggregates.
    """
    for node in aggregates:
        leaf = node.child()
        if simple_name(leaf) == "Project" and leaf.projectList().isEmpty():
            leaf = leaf.child()
        is_plain = node.references().isEmpty() and node.deterministic()
        if is_plain and is_over_files(leaf):
            yield leaf


def _asked_once(spark: SparkSession, aggregates: Iterable[JavaObject]) -> Iterator[JavaObject]:
    """Placeholders of which an aggregate asks the partition columns only, and of equal rows one."""
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


def _ignores_repetition(function: JavaObject) -> bool:
    """Whether an aggregate function gives the same of several equal rows and of one."""
    kind = simple_name(function.aggregateFunction())
    return kind in ("Max", "Min") or bool(function.isDistinct())


def _aggregate_functions(expression: JavaObject, pattern: JavaObject) -> Iterator[JavaObject]:
    """The aggregate functions in an expression, but for those of its subqueries.

    Args:
        pattern: Spark's mark of expressions with such functions.
    """
    if simple_name(expression) == "AggregateExpression":
        yield expression
    elif expression.containsPattern(pattern):
        for child in elements(expression.children()):
            yield from _aggregate_functions(child, pattern)


def _told(
    spark: SparkSession, leaf: JavaObject, condition: JavaObject
) -> tuple[tuple[Conjunct, ...], tuple[Lookup, ...]]:
    """Split a condition on a placeholder into conjuncts that are constant, and those that depend on
    other queries.
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
