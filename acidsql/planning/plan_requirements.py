"""Requirements of an optimised plan: the rows that a statement needs of each of its tables.

Spark's optimizer pushes conditions, also those of joins and subqueries, down to the placeholders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.planning.placeholder_relations import (
    Occurrence,
    filters,
    identity,
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

    conjuncts: tuple[bridge.Conjunct, ...]
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
        columns: names of the columns that are required of an occurrence, in lower case; one of
            which all are required is left out.
    """

    copies: Mapping[Occurrence, Sequence[PlaceholderCopy]]
    count_only: frozenset[Occurrence] = frozenset()
    distinct_partitions_only: frozenset[Occurrence] = frozenset()
    columns: Mapping[Occurrence, frozenset[str]] = field(default_factory=dict)


def required_of_placeholders(
    spark: SparkSession, plan: bridge.LogicalPlan, current: bridge.CurrentValues
) -> PlanRequirements:
    """Optimise a plan over placeholders and read from it the rows that it requires.

    Nothing is known, so all rows are required, if the plan depends on the time at which it runs.

    Args:
        plan: analysed or not; a command is not run.
        current: values that will be put into the plan that runs.
    """
    optimized = current.optimize(plan)
    if optimized is None:
        return PlanRequirements(copies={})
    plan, pruning = without_pruning(spark, optimized)
    copies = _copies(plan)
    found: dict[Occurrence, list[PlaceholderCopy]] = {}
    for node in filters(plan):
        leaf = bridge.child(node)
        occurrence = copies.get(identity(leaf))
        if occurrence is None:
            continue
        # An attribute in a condition has the case of the statement's text, not that of the column.
        columns = bridge.output_of(leaf)
        condition = bridge.rebound(spark, bridge.filter_condition(node), columns, columns)
        conjuncts, compared = _told(spark, leaf, condition)
        copy = PlaceholderCopy(conjuncts, (*compared, *pruning.get(identity(leaf), ())))
        if copy.conjuncts or copy.lookups:
            found.setdefault(occurrence, []).append(copy)
    counts = Counter(copies.values())

    def with_all_copies(leaves: Iterable[bridge.LogicalPlan]) -> frozenset[Occurrence]:
        """Return the occurrences all of whose copies are among some leaves."""
        own = Counter(copies.get(identity(leaf)) for leaf in leaves)
        return frozenset(
            occurrence for occurrence in counts if own[occurrence] == counts[occurrence]
        )

    aggregates = list(bridge.nodes_of_kind(plan, "Aggregate"))
    return PlanRequirements(
        copies={o: own for o, own in found.items() if len(own) == counts[o]},
        count_only=with_all_copies(_counted(aggregates)),
        distinct_partitions_only=with_all_copies(_distinct_partitions(spark, aggregates)),
        columns=_required_columns(plan, copies),
    )


def _copies(plan: bridge.LogicalPlan) -> dict[int, Occurrence]:
    """Find the placeholders in a plan and its subqueries.

    Returns:
        The occurrence of each copy, by the copy's identity; occurrences whose copies have the same
        identity are left out.
    """
    found: dict[int, Occurrence] = {}
    repeated: set[Occurrence] = set()
    for tree in bridge.with_subqueries(plan):
        for leaf in bridge.leaves(tree):
            occurrence = occurrence_of(leaf)
            if occurrence is not None:
                repeated |= {occurrence} if identity(leaf) in found else set()
                found[identity(leaf)] = occurrence
    # Conditions cannot be assigned to copies with the same identity.
    return {copy: occurrence for copy, occurrence in found.items() if occurrence not in repeated}


def _required_columns(
    plan: bridge.LogicalPlan, copies: Mapping[int, Occurrence]
) -> dict[Occurrence, frozenset[str]]:
    """Find the columns that a plan requires of its placeholders.

    Where not all are required, the optimizer has put a projection above the placeholder, or above
    its filters.
    """
    required: dict[Occurrence, frozenset[str]] = {}
    projected: Counter[Occurrence] = Counter()
    for node in bridge.nodes_of_kind(plan, "Project"):
        above, leaf = [node], bridge.child(node)
        while bridge.simple_name(leaf) == "Filter":
            above.append(leaf)
            leaf = bridge.child(leaf)
        occurrence = copies.get(identity(leaf)) if bridge.is_file_relation(leaf) else None
        if occurrence is not None:
            projected[occurrence] += 1
            known = required.get(occurrence, frozenset())
            required[occurrence] = known | bridge.names_referred_to(above)
    counts = Counter(copies.values())
    return {o: names for o, names in required.items() if projected[o] == counts[o]}


def _counted(aggregates: Iterable[bridge.LogicalPlan]) -> Iterator[bridge.LogicalPlan]:
    """Yield the relations whose rows are aggregated without reading any column.

    Relations with only a projection above them do not count: Spark can add columns, which a later
    step on a DataFrame names, below projections, but not below aggregates.
    """
    for node in aggregates:
        leaf = bridge.child(node)
        if bridge.is_empty_projection(leaf):
            leaf = bridge.child(leaf)
        is_plain = not bridge.refers_to_columns(node) and bridge.is_deterministic(node)
        if is_plain and bridge.is_file_relation(leaf):
            yield leaf


def _distinct_partitions(
    spark: SparkSession, aggregates: Iterable[bridge.LogicalPlan]
) -> Iterator[bridge.LogicalPlan]:
    """Yield the relations whose partition columns alone are aggregated, by functions for which
    equal rows count once.
    """
    for node in aggregates:
        above, leaf = [node], bridge.child(node)
        while bridge.simple_name(leaf) in ("Project", "Filter"):
            above.append(leaf)
            leaf = bridge.child(leaf)
        if not bridge.is_file_relation(leaf) or not bridge.is_deterministic(node):
            continue
        required = {name.lower() for n in above for name in bridge.required_columns(n, leaf)}
        if not required or not required <= partition_names(leaf):
            continue
        if all(map(_ignores_repetition, bridge.aggregate_functions(spark, node))):
            yield leaf


def _ignores_repetition(function: bridge.AggregateFunction) -> bool:
    """Return whether an aggregate function has the same result for one row and for several equal
    ones.
    """
    return function.name in ("Max", "Min") or function.is_distinct


def _told(
    spark: SparkSession, leaf: bridge.LogicalPlan, condition: bridge.Expression
) -> tuple[tuple[bridge.Conjunct, ...], tuple[Lookup, ...]]:
    """Split the conjuncts of a condition on a placeholder into those with known values, and those
    with values of subqueries; others are left out.
    """
    conjuncts, compared = [], []
    for part in bridge.split_and(condition):
        expression, is_coarse = bridge.without_coarse_mark(part)
        if not bridge.is_deterministic(expression):
            continue
        if bridge.has_subquery(spark, expression):
            found = comparison(spark, leaf, expression)
            compared += [found] if found else []
        else:
            told = bridge.conjunct(expression, coarse=is_coarse)
            conjuncts += [told] if told.columns else []
    return tuple(conjuncts), tuple(compared)
