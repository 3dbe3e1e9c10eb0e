"""Placeholder relations, which have the columns of a table and no files.

A statement is planned over placeholders first. What Spark's optimizer leaves above one is all that
the statement requires of that occurrence of a table.
"""

from __future__ import annotations

from collections.abc import Iterator

from pyspark.sql import SparkSession
from pyspark.sql.types import StructType

from acidsql import bridge

# Path to a reference to a table: its position among the references of the statement, preceded by
# the positions of the views that contain it, the outermost first.
Occurrence = tuple[int, ...]

# Option of a placeholder: the occurrence of a table that it stands for.
_OCCURRENCE = "acidsql.occurrence"


def placeholder(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> bridge.UnresolvedPlan:
    """Build the placeholder of an occurrence of a table.

    Args:
        schema: all columns of the scan.
        partitions: those of them that are partition columns.
    """
    return bridge.rows_of(spark, _without_files(spark, schema, partitions, occurrence))


@bridge.cached_per_session(256)
def _without_files(
    spark: SparkSession, schema: StructType, partitions: StructType, occurrence: Occurrence
) -> bridge.JavaObject:
    options = {_OCCURRENCE: ".".join(map(str, occurrence))}
    return bridge.file_relation(spark, [], schema, options, partitions)[0]


def occurrence_of(leaf: bridge.LogicalPlan) -> Occurrence | None:
    """Return the occurrence that a placeholder stands for, None for other leaves."""
    if not bridge.is_file_relation(leaf):
        return None
    occurrence = bridge.relation_option(leaf, _OCCURRENCE)
    return tuple(map(int, occurrence.split("."))) if occurrence is not None else None


def identity(leaf: bridge.LogicalPlan) -> int:
    """Return what tells the copies of a placeholder apart."""
    return bridge.first_column_id(leaf)


def partition_names(leaf: bridge.LogicalPlan) -> set[str]:
    """Return the names of a placeholder's partition columns, in lower case."""
    return {name.lower() for name in bridge.partition_column_names(leaf)}


def filters(plan: bridge.LogicalPlan) -> Iterator[bridge.LogicalPlan]:
    """Yield the filters directly above relations over files, in subqueries too."""
    for node in bridge.nodes_of_kind(plan, "Filter"):
        if bridge.is_file_relation(bridge.child(node)):
            yield node
