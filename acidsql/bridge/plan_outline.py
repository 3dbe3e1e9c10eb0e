"""Description of an optimised plan, which planning reads in one call into the JVM."""

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
        name: name of its class, such as ``Max``.
        is_distinct: whether it has DISTINCT.
    """

    name: str
    is_distinct: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class FileRelation:
    """Relation over files.

    Attributes:
        option: value of the option that was passed to ``outline``, or None.
        columns: expression ids of its columns. Copies of a relation have different ids.
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
        has_subquery: whether it contains a subquery.
        columns: SQL types of its columns, by column name.
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
        """Expression with the attributes of the filter."""
        return self._java.node(self._condition)

    @property
    def expression(self) -> Expression:
        """Expression with the attributes of the relation.

        The names of the filter's attributes can differ in case, because the statement sets it.
        """
        return self._java.node(self._expression)

    def conjunct(self) -> Conjunct:
        """Return this conjunct as a condition on a table."""
        return Conjunct(expression=self.expression, columns=self.columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanNode:
    """Node of a plan.

    Attributes:
        kind: class of the node.
        is_deterministic: whether Spark considers the node and all nodes below it deterministic.
        children: the children from left to right.
        relation: relation of a ``LogicalRelation`` over files, otherwise None.
        has_fractions: whether it is an ``Aggregate`` with a column of FLOAT or DOUBLE.
        references: names of the attributes in the node's own expressions, by expression id.
        conjuncts: conjuncts of a ``Filter`` directly above a relation over files.
        is_empty: whether it is a ``Project`` without columns.
        functions: functions of an ``Aggregate``, except those in its subqueries.

    The last four are set for a ``Filter``, ``Project`` or ``Aggregate`` that has only filters and
    projections between it and a relation over files.
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
        """Plan whose root is this node."""
        return self._java.node(self._number)

    @property
    def child(self) -> PlanNode:
        """Its only child."""
        (only,) = self.children
        return only

    def walk(self) -> Iterator[PlanNode]:
        """Yield this node and all nodes below it, parents first, without subqueries."""
        waiting = [self]
        while waiting:
            node = waiting.pop()
            yield node
            waiting += reversed(node.children)


@dataclass(frozen=True, slots=True)
class PlanOutline:
    """Description of a plan.

    Attributes:
        root: root of the plan.
        subqueries: roots of all its subqueries.
    """

    root: PlanNode
    subqueries: tuple[PlanNode, ...]

    def walk(self) -> Iterator[PlanNode]:
        """Yield the nodes of the plan and of its subqueries, parents first."""
        for tree in (self.root, *self.subqueries):
            yield from tree.walk()


def outline(spark: SparkSession, plan: LogicalPlan, option: str) -> PlanOutline:
    """Describe a plan.

    Args:
        spark: the session.
        plan: the optimised plan.
        option: name of the option whose value is read from each relation over files.
    """
    java = jvm_planning(spark).outline(plan, option)
    described = json.loads(java.text())
    nodes: dict[int, PlanNode] = {}
    # Backwards, so that children come before their parents. Recursion could be too deep.
    for number in reversed(range(len(described["nodes"]))):
        if described["nodes"][number] is not None:  # None for an expression
            nodes[number] = _node(java, described["nodes"][number], number, nodes)
    root, *others = (nodes[number] for number in described["roots"])
    return PlanOutline(root, tuple(others))


def _node(
    java: JavaObject, described: Mapping[str, Any], number: int, known: Mapping[int, PlanNode]
) -> PlanNode:
    return PlanNode(
        kind=described["kind"],
        is_deterministic=described["deterministic"],
        children=tuple(known[child] for child in described["children"]),
        relation=_relation(described) if "option" in described else None,
        has_fractions=described.get("fractions", False),
        references=dict(described.get("references", ())),
        conjuncts=tuple(_conjunct(java, part) for part in described.get("conjuncts", ())),
        is_empty=described.get("empty", False),
        functions=tuple(
            AggregateFunction(name=f["name"], is_distinct=f["distinct"])
            for f in described.get("functions", ())
        ),
        _java=java,
        _number=number,
    )


def _relation(described: Mapping[str, Any]) -> FileRelation:
    return FileRelation(
        option=described["option"],
        columns=tuple(described["columns"]),
        partitions=tuple(described["partitions"]),
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
