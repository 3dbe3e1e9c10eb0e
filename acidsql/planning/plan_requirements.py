"""Requirements of an optimised plan: the rows that a statement needs of each of its tables.

Spark's optimizer pushes conditions, also those of joins and subqueries, down to the placeholders.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.format.identifiers import folded
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
        count_only: occurrences where only the number of rows is required.
        distinct_partitions_only: occurrences where only the partition columns are required, each
            combination of values once.
        columns: keys of the columns that are required of an occurrence (``Column.key``). An
            occurrence is left out if all of its columns are required.
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
    outlined, pruning = without_pruning(spark, optimized)
    copies = _copies(outlined)
    found: dict[Occurrence, list[PlaceholderCopy]] = {}
    for node, _, relation in filters(outlined):
        occurrence = copies.get(identity(relation))
        if occurrence is None:
            continue
        conjuncts, compared = _conditions(spark, node, relation)
        copy = PlaceholderCopy(conjuncts, (*compared, *pruning.get(identity(relation), ())))
        if copy.conjuncts or copy.lookups:
            found.setdefault(occurrence, []).append(copy)
    counts = Counter(copies.values())

    def with_all_copies(relations: Iterable[bridge.FileRelation]) -> frozenset[Occurrence]:
        """Return the occurrences all of whose copies are among some relations."""
        own = Counter(copies.get(identity(relation)) for relation in relations)
        return frozenset(
            occurrence for occurrence in counts if own[occurrence] == counts[occurrence]
        )

    aggregates = [node for node in outlined.walk() if node.kind == "Aggregate"]
    return PlanRequirements(
        copies={o: own for o, own in found.items() if len(own) == counts[o]},
        count_only=with_all_copies(_counted(aggregates)),
        distinct_partitions_only=with_all_copies(_distinct_partitions(aggregates)),
        columns=_required_columns(outlined, copies),
    )


def _copies(plan: bridge.PlanOutline) -> dict[int, Occurrence]:
    """Find the placeholders in a plan and its subqueries.

    Returns:
        The occurrence of each copy, by the copy's identity; occurrences whose copies have the same
        identity are left out.
    """
    found: dict[int, Occurrence] = {}
    repeated: set[Occurrence] = set()
    for leaf in plan.walk():
        occurrence = occurrence_of(leaf)
        if leaf.relation is not None and occurrence is not None:
            copy = identity(leaf.relation)
            repeated |= {occurrence} if copy in found else set()
            found[copy] = occurrence
    # Conditions cannot be assigned to copies with the same identity.
    return {copy: occurrence for copy, occurrence in found.items() if occurrence not in repeated}


def _required_columns(
    plan: bridge.PlanOutline, copies: Mapping[int, Occurrence]
) -> dict[Occurrence, frozenset[str]]:
    """Find the columns that a plan requires of its placeholders.

    Where not all are required, the optimizer has put a projection above the placeholder, or above
    its filters.
    """
    required: dict[Occurrence, frozenset[str]] = {}
    projected: Counter[Occurrence] = Counter()
    for node in plan.walk():
        if node.kind != "Project":
            continue
        above, leaf = _down(node, ("Filter",))
        occurrence = None if leaf.relation is None else copies.get(identity(leaf.relation))
        if occurrence is not None:
            projected[occurrence] += 1
            known = required.get(occurrence, frozenset())
            required[occurrence] = known | _names_referred_to(above)
    counts = Counter(copies.values())
    return {o: names for o, names in required.items() if projected[o] == counts[o]}


def _down(
    node: bridge.PlanNode, kinds: Container[str]
) -> tuple[list[bridge.PlanNode], bridge.PlanNode]:
    """Return a node with those of some kinds below it, and the first one of another kind."""
    above, below = [node], node.child
    while below.kind in kinds:
        above.append(below)
        below = below.child
    return above, below


def _names_referred_to(nodes: Iterable[bridge.PlanNode]) -> frozenset[str]:
    return frozenset(folded(name) for node in nodes for name in node.references.values())


def _counted(aggregates: Iterable[bridge.PlanNode]) -> Iterator[bridge.FileRelation]:
    """Yield the relations whose rows are aggregated without reading any column.

    Relations with only a projection above them do not count: Spark can add columns, which a later
    step on a DataFrame names, below projections, but not below aggregates.
    """
    for node in aggregates:
        leaf = node.child.child if node.child.is_empty else node.child
        if not node.references and node.is_deterministic and leaf.relation is not None:
            yield leaf.relation


def _distinct_partitions(
    aggregates: Iterable[bridge.PlanNode],
) -> Iterator[bridge.FileRelation]:
    """Yield the relations where only partition columns are aggregated, by functions for which equal
    rows count once.
    """
    for node in aggregates:
        above, leaf = _down(node, ("Project", "Filter"))
        if leaf.relation is None or not node.is_deterministic:
            continue
        names = {i: folded(name) for n in above for i, name in n.references.items()}
        required = {names[i] for i in leaf.relation.columns if i in names}
        if not required or not required <= partition_names(leaf.relation):
            continue
        if all(map(_ignores_repetition, node.functions)):
            yield leaf.relation


def _ignores_repetition(function: bridge.AggregateFunction) -> bool:
    """Return whether an aggregate function has the same result for one row and for several equal
    ones.
    """
    return function.name in ("Max", "Min") or function.is_distinct


def _conditions(
    spark: SparkSession, node: bridge.PlanNode, relation: bridge.FileRelation
) -> tuple[tuple[bridge.Conjunct, ...], tuple[Lookup, ...]]:
    """Split the conjuncts of a filter on a placeholder into those with known values, and those
    with values of subqueries; others are left out.
    """
    conjuncts, compared = [], []
    for part in node.conjuncts:
        if not part.is_deterministic:
            continue
        if part.has_subquery:
            found = comparison(spark, relation, part)
            compared += [found] if found else []
        elif part.columns:
            conjuncts.append(part.conjunct())
    return tuple(conjuncts), tuple(compared)
