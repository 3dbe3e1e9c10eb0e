"""Required rows of an occurrence of a table in a statement."""

from __future__ import annotations

from dataclasses import dataclass, field

from acidsql import bridge

# Values of partitions, each in the order of the partition columns, as the metastore has them.
PartitionSet = frozenset[tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredRows:
    """Rows that a statement requires of one occurrence of a table; a scan may omit all others.

    Attributes:
        partitions: values of the required partitions, None for all.
        partition_conditions: conditions that selected these partitions, in the form of
            ``conditions``; empty for all.
        conditions: alternatives (OR), each the conjuncts (AND) that required rows meet; empty for
            all rows.
        count_only: whether only the number of rows is required, and no values.
        distinct_partitions_only: whether only the partition columns are required, and each
            combination of their values once.
        columns: names of the required columns in lower case, None if these are not known. A scan
            still has all columns; Spark reads only the used columns.
    """

    partitions: PartitionSet | None = None
    partition_conditions: tuple[tuple[bridge.Conjunct, ...], ...] = field(default=(), compare=False)
    conditions: tuple[tuple[bridge.Conjunct, ...], ...] = ()
    count_only: bool = False
    distinct_partitions_only: bool = False
    columns: frozenset[str] | None = None


ALL_ROWS = RequiredRows()
