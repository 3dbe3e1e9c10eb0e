"""Placeholder relations, which have the columns of a table and no files.

A statement is planned over placeholders first. The nodes that Spark's optimizer leaves above a
placeholder show the rows and columns that the statement requires of that occurrence of a table.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql import bridge
from acidsql.format.identifiers import folded
from acidsql.metastore.model import Table
from acidsql.scan.change_plan import change_schema
from acidsql.scan.columns import scan_schema
from acidsql.schema.columns import partition_schema

# Path to a reference to a table: its position among the references of the statement. The positions
# of the views that contain the reference precede it, the outermost view first.
Occurrence = tuple[int, ...]

# Option of a placeholder: the occurrence of a table that it replaces.
_OCCURRENCE = "acidsql.occurrence"


def placeholder(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> bridge.UnresolvedPlan:
    """Build the placeholder of an occurrence of a table.

    Args:
        schema: all columns of the scan.
        partitions: the partition columns among them.
    """
    return bridge.rows_of(spark, _without_files(spark, schema, partitions, occurrence))


@dataclass(frozen=True, slots=True)
class PlaceholderPass:
    """First pass of planning: builds placeholders, and records the table of each placeholder.

    Attributes:
        tables: table of each placeholder.
    """

    spark: SparkSession
    tables: dict[Occurrence, Table] = field(default_factory=dict)

    def __call__(self, table: Table, occurrence: Occurrence) -> bridge.UnresolvedPlan:
        """Build the placeholder of an occurrence of a table."""
        self.tables[occurrence] = table
        columns, partitions = scan_schema(self.spark, table), partition_schema(self.spark, table)
        if table.changes is not None:
            columns = change_schema(self.spark, table)
        return placeholder(self.spark, columns, partitions, occurrence)


@bridge.cached_per_session(256)
def _without_files(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> bridge.JavaObject:
    options = {_OCCURRENCE: _text(occurrence)}
    return bridge.file_relation(spark, [], schema, options, partitions)[0]


def outline(spark: SparkSession, plan: bridge.LogicalPlan) -> bridge.PlanOutline:
    """Describe an optimised plan over placeholders."""
    return bridge.outline(spark, plan, _OCCURRENCE)


def fill(
    spark: SparkSession,
    plan: bridge.LogicalPlan,
    plans: Mapping[Occurrence, bridge.LogicalPlan],
) -> bridge.LogicalPlan:
    """Replace the placeholders in an analysed plan by plans.

    Args:
        plans: analysed plan of each occurrence, with the columns of its placeholder.
    """
    return bridge.fill(spark, plan, _OCCURRENCE, {_text(o): rows for o, rows in plans.items()})


def _text(occurrence: Occurrence) -> str:
    return ".".join(map(str, occurrence))


def occurrence_of(leaf: bridge.PlanNode) -> Occurrence | None:
    """Return the occurrence that a placeholder replaces, None for other nodes."""
    if leaf.relation is None or leaf.relation.option is None:
        return None
    return tuple(map(int, leaf.relation.option.split(".")))


def identity(relation: bridge.FileRelation) -> int:
    """Return a number that distinguishes the copies of a placeholder."""
    return relation.first_column_id


def partition_names(relation: bridge.FileRelation) -> set[str]:
    """Return the keys of a placeholder's partition columns (``Column.key``)."""
    return {folded(name) for name in relation.partitions}


def filters(
    plan: bridge.PlanOutline,
) -> Iterator[tuple[bridge.PlanNode, bridge.PlanNode, bridge.FileRelation]]:
    """Yield the filters directly above relations over files, including those in subqueries.

    Each filter comes with the node of the relation and the relation.
    """
    for node in plan.walk():
        if node.kind == "Filter" and node.child.relation is not None:
            yield node, node.child, node.child.relation
