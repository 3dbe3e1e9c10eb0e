"""Requirements of an optimised plan: the rows that a statement needs from each of its tables.

Spark's optimizer pushes conditions down to the placeholders, including conditions of joins and
subqueries.
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
        lookups: conditions with values that queries must compute.
    """

    conjuncts: tuple[bridge.Conjunct, ...]
    lookups: tuple[Lookup, ...]


@dataclass(frozen=True)
class PlanRequirements:
    """Rows that a plan requires of each placeholder.

    The optimizer copies a placeholder if a common table expression is used several times. A row is
    required if any copy requires it.

    Attributes:
        copies: conditions of each copy of a placeholder. A placeholder is left out if a copy
            requires all rows.
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
    """Optimise a plan over placeholders, and find the rows that it requires.

    All rows are required if the plan depends on the time at which it runs.

    Args:
        plan: a plan, analysed or not; a command is not run.
        current: values that will be put into the plan that runs.
    """
    optimized = current.optimize(plan)
    if optimized is None:
        return PlanRequirements(copies={})
    outlined, pruning = without_pruning(spark, optimized)
    copies = _copies(outlined)
    required_copies: dict[Occurrence, list[PlaceholderCopy]] = {}
    for node, _, relation in filters(outlined):
        occurrence = copies.get(identity(relation))
        if occurrence is None:
            continue
        conjuncts, compared = _conditions(spark, node, relation)
        copy = PlaceholderCopy(conjuncts, (*compared, *pruning.get(identity(relation), ())))
        if copy.conjuncts or copy.lookups:
            required_copies.setdefault(occurrence, []).append(copy)
    counts = Counter(copies.values())

    def with_all_copies(relations: Iterable[bridge.FileRelation]) -> frozenset[Occurrence]:
        """Return the occurrences that have all of their copies among the relations."""
        counted = Counter(copies.get(identity(relation)) for relation in relations)
        return frozenset(
            occurrence for occurrence in counts if counted[occurrence] == counts[occurrence]
        )

    aggregates = [node for node in outlined.walk() if node.kind == "Aggregate"]
    return PlanRequirements(
        copies={o: each for o, each in required_copies.items() if len(each) == counts[o]},
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
    occurrences: dict[int, Occurrence] = {}
    repeated: set[Occurrence] = set()
    for leaf in plan.walk():
        occurrence = occurrence_of(leaf)
        if leaf.relation is not None and occurrence is not None:
            copy = identity(leaf.relation)
            repeated |= {occurrence} if copy in occurrences else set()
            occurrences[copy] = occurrence
    # Conditions cannot be assigned to copies with the same identity.
    return {
        copy: occurrence for copy, occurrence in occurrences.items() if occurrence not in repeated
    }


def _required_columns(
    plan: bridge.PlanOutline, copies: Mapping[int, Occurrence]
) -> dict[Occurrence, frozenset[str]]:
    """Find the columns that a plan requires of its placeholders.

    If a plan does not require all columns, the optimizer has put a projection above the
    placeholder or above its filters.
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
    """Return a node with the nodes of some kinds below it, and the first node of another kind."""
    above, below = [node], node.child
    while below.kind in kinds:
        above.append(below)
        below = below.child
    return above, below


def _names_referred_to(nodes: Iterable[bridge.PlanNode]) -> frozenset[str]:
    return frozenset(folded(name) for node in nodes for name in node.references.values())


def _counted(aggregates: Iterable[bridge.PlanNode]) -> Iterator[bridge.FileRelation]:
    """Yield the relations whose rows are aggregated without reading any column.

    Relations with only a projection above them do not count. A later step on a DataFrame can name
    more columns, which Spark can add below a projection, but not below an aggregate.
    """
    for node in aggregates:
        leaf = node.child.child if node.child.is_empty else node.child
        if not node.references and node.is_deterministic and leaf.relation is not None:
            yield leaf.relation


def _distinct_partitions(
    aggregates: Iterable[bridge.PlanNode],
) -> Iterator[bridge.FileRelation]:
    """Yield the relations where only partition columns are aggregated.

    The aggregate functions must ignore repeated rows.
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
    """Return whether repeated rows do not change the result of an aggregate function."""
    return function.name in ("Max", "Min") or function.is_distinct


def _conditions(
    spark: SparkSession, node: bridge.PlanNode, relation: bridge.FileRelation
) -> tuple[tuple[bridge.Conjunct, ...], tuple[Lookup, ...]]:
    """Split the conjuncts of a filter on a placeholder by their values.

    Returns:
        The conjuncts with known values, and those with values of subqueries; others are left out.
    """
    conjuncts, compared = [], []
    for part in node.conjuncts:
        if not part.is_deterministic:
            continue
        if part.has_subquery:
            comparable = comparison(spark, relation, part)
            compared += [comparable] if comparable else []
        elif part.columns:
            conjuncts.append(part.conjunct())
    return tuple(conjuncts), tuple(compared)
