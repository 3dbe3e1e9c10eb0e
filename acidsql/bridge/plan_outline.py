"""Description of an optimised plan: what planning reads from it, in one call into the JVM."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import SparkSession

from acidsql.bridge.conditions import Conjunct
from acidsql.bridge.jvm import Expression, JavaObject, LogicalPlan
from acidsql.bridge.jvm_planning import jvm_planning


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateFunction:
    """Aggregate function in an ``Aggregate``.

    Attributes:
        name: of its class, such as ``Max``.
        is_distinct: whether it has DISTINCT.
    """

    name: str
    is_distinct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRelation:
    """Relation over files.

    Attributes:
        option: value of the option that ``outline`` was given, or None.
        columns: expression ids of its columns, which differ between copies of a relation.
        partitions: names of its partition columns.
    """

    option: str | None
    columns: tuple[int, ...]
    partitions: tuple[str, ...]

    @property
    def first_column_id(self) -> int:
        """Expression id of the first column."""
        return self.columns[0]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterConjunct:
    """Conjunct of a filter directly above a relation over files.

    Attributes:
        kind: class of its expression.
        is_deterministic: whether it is deterministic.
        has_subquery: whether it has a subquery in it.
        columns: SQL types of the columns in it, by their names.
    """

    kind: str
    is_deterministic: bool
    has_subquery: bool
    columns: Mapping[str, str]
    _java: JavaObject
    _condition: int
    _expression: int

    @property
    def condition(self) -> Expression:
        """Expression as the filter has it."""
        return self._java.node(self._condition)

    @property
    def expression(self) -> Expression:
        """Expression over the attributes of the relation: those of the filter have the case of the
        statement's text.
        """
        return self._java.node(self._expression)

    def conjunct(self) -> Conjunct:
        """Return the condition on a table that it is."""
        return Conjunct(expression=self.expression, columns=self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """Node of a plan.

    Attributes:
        kind: its class.
        is_deterministic: whether Spark takes the plan from here on down to be deterministic.
        children: from left to right.
        relation: of a ``LogicalRelation`` over files, else None.
        has_fractions: whether it is an ``Aggregate`` with a column of FLOAT or DOUBLE.
        references: names of the attributes that its own expressions refer to, by their ids.
        conjuncts: of a ``Filter`` directly above a relation over files.
        is_empty: whether it is a ``Project`` to no columns.
        functions: of an ``Aggregate``, without those in its subqueries.

    The last four are known of a ``Filter``, ``Project`` or ``Aggregate`` with nothing but filters
    and projections between it and a relation over files.
    """

    kind: str
    is_deterministic: bool
    children: tuple[PlanNode, ...]
    relation: FileRelation | None
    has_fractions: bool
    references: Mapping[int, str]
    conjuncts: tuple[FilterConjunct, ...]
    is_empty: bool
    functions: tuple[AggregateFunction, ...]
    _java: JavaObject
    _number: int

    @property
    def plan(self) -> LogicalPlan:
        """Plan from here on down."""
        return self._java.node(self._number)

    @property
    def child(self) -> PlanNode:
        """Its only child."""
        (only,) = self.children
        return only

    def walk(self) -> Iterator[PlanNode]:
        """Yield the node and all nodes below it, each before its children; none of subqueries."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


@dataclass(frozen=True, slots=True)
class PlanOutline:
    """Description of a plan.

    Attributes:
        root: of the plan.
        subqueries: the roots of all its subqueries.
    """

    root: PlanNode
    subqueries: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        """Yield the nodes of the plan and of its subqueries, each before its children."""
        for tree in (self.root, *self.subqueries):
            yield from tree.walk()


def outline(spark: SparkSession, plan: LogicalPlan, option: str) -> PlanOutline:
    """Describe a plan.

    Args:
        option: the option of relations over files whose value is returned.
    """
    java = jvm_planning(spark).outline(plan, option)
    described = json.loads(java.text())
    nodes: dict[int, PlanNode] = {}
    # Backwards, so that children come before their parents, however deep the plan is.
    for number in reversed(range(len(described["nodes"]))):
        if described["nodes"][number] is not None:  # None for an expression
            nodes[number] = _node(java, described["nodes"][number], number, nodes)
    root, *others = (nodes[number] for number in described["roots"])
    return PlanOutline(root, tuple(others))


def _node(
    java: JavaObject, own: Mapping[str, Any], number: int, known: Mapping[int, PlanNode]
) -> PlanNode:
    return PlanNode(
        kind=own["kind"],
        is_deterministic=own["deterministic"],
        children=tuple(known[child] for child in own["children"]),
        relation=_relation(own) if "option" in own else None,
        has_fractions=own.get("fractions", False),
        references=dict(own.get("references", ())),
        conjuncts=tuple(_conjunct(java, part) for part in own.get("conjuncts", ())),
        is_empty=own.get("empty", False),
        functions=tuple(
            AggregateFunction(name=f["name"], is_distinct=f["distinct"])
            for f in own.get("functions", ())
        ),
        _java=java,
        _number=number,
    )


def _relation(own: Mapping[str, Any]) -> FileRelation:
    return FileRelation(
        option=own["option"], columns=tuple(own["columns"]), partitions=tuple(own["partitions"])
    )


def _conjunct(java: JavaObject, part: Mapping[str, Any]) -> FilterConjunct:
    return FilterConjunct(
        kind=part["kind"],
        is_deterministic=part["deterministic"],
        has_subquery=part["subquery"],
        columns=part["columns"],
        _java=java,
        _condition=part["condition"],
        _expression=part["expression"],
    )
