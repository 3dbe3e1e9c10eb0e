"""First pass of planning, over placeholders."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.metastore.model import Table
from acidsql.planning.placeholder_relations import Occurrence, placeholder
from acidsql.scan.changes import change_schema
from acidsql.scan.columns import scan_schema
from acidsql.schema.columns import partition_schema


@dataclass(frozen=True, slots=True)
class PlaceholderPass:
    """First pass of planning: builds placeholders, and records the table of each.

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
