"""Placeholder relations, which have the columns of a table and no files.

A statement is planned over placeholders first. What Spark's optimizer leaves above one is all that
the statement requires of that occurrence of a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql.bridge.jvm import JavaObject, LogicalPlan, simple_name
from acidsql.bridge.jvm_cache import cached_per_session
from acidsql.bridge.relations import file_relation, rows_of
from acidsql.bridge.unresolved_plan import UnresolvedPlan

# Path to a reference to a table: its position among the references of the statement, preceded by
# the positions of the views that contain it, the outermost first.
Occurrence = tuple[int, ...]

# Option of a placeholder: the occurrence of a table that it stands for.
_OCCURRENCE = "acidsql.occurrence"
_NODE_LINE = re.compile(r"^(\d+) [ :+|-]*(Filter|Aggregate) ", re.MULTILINE)


def placeholder(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> UnresolvedPlan:
    """Build the placeholder of an occurrence of a table.

    Args:
        schema: all columns of the scan.
        partitions: those of them that are partition columns.
    """
    return rows_of(spark, _without_files(spark, schema, partitions, occurrence))


@cached_per_session(256)
def _without_files(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> JavaObject:
    options = {_OCCURRENCE: ".".join(map(str, occurrence))}
    return file_relation(spark, [], schema, options, partitions)[0]


def occurrence_of(leaf: LogicalPlan) -> Occurrence | None:
    """Return the occurrence that a placeholder stands for, None for other leaves."""
    if not is_over_files(leaf):
        return None
    occurrence = leaf.relation().options().get(_OCCURRENCE)
    return tuple(map(int, occurrence.get().split("."))) if occurrence.isDefined() else None


def identity(leaf: LogicalPlan) -> int:
    """Return the expression id of a relation's first column, which differs between copies of a
    relation.
    """
    return int(leaf.output().head().exprId().id())


def is_over_files(leaf: LogicalPlan) -> bool:
    """Return whether a node is a relation over files, as placeholders are."""
    relation = simple_name(leaf) == "LogicalRelation" and leaf.relation()
    return bool(relation) and simple_name(relation) == "HadoopFsRelation"


def partition_names(leaf: LogicalPlan) -> set[str]:
    """Return the names of a placeholder's partition columns, in lower case."""
    return {str(name).lower() for name in leaf.relation().partitionSchema().fieldNames()}


def filters(plan: LogicalPlan) -> Iterator[JavaObject]:
    """Yield the filters directly above relations over files, in subqueries too."""
    return (node for node in nodes(plan, "Filter") if is_over_files(node.child()))


def nodes(plan: LogicalPlan, kind: str) -> Iterator[JavaObject]:
    """Yield the nodes of a kind, in subqueries too.

    Nodes are found in the plan's text, where a literal with line breaks can hide those after it.

    Args:
        kind: ``Filter`` or ``Aggregate``.
    """
    lines = _NODE_LINE.findall(str(plan.numberedTreeString()))
    for number in sorted({int(n) for n, name in lines if name == kind}):
        node = plan.apply(number)
        if node is not None and simple_name(node) == kind:
            yield node
