"""Pruning: the partitions and rows that a statement requires.

acidsql finds them before it fetches or lists any partition.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from pyspark.sql import SparkSession

from acidsql import bridge
from acidsql.format.partitions import DEFAULT_PARTITION
from acidsql.limits import limits
from acidsql.metastore.model import Table
from acidsql.metastore.partition_filter import MOST_VALUES, PartitionComparison, PartitionFilter
from acidsql.planning.change_request import pushable
from acidsql.planning.generated_partitions import with_generated_conditions
from acidsql.planning.placeholder_relations import Occurrence
from acidsql.planning.plan_requirements import required_of_placeholders
from acidsql.planning.pruning_subqueries import evaluate
from acidsql.scan.required_rows import ALL_ROWS, RequiredRows
from acidsql.schema.columns import partition_schema
from acidsql.session.acid_session import AcidSession

# Types of partition columns that a metastore can compare, and the types of their constants.
_COMPARED: Mapping[str, type] = {
    "tinyint": int,
    "smallint": int,
    "int": int,
    "bigint": int,
    "date": date,
    "string": str,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownPartitions:
    """Values of the partitions of tables, fetched once.

    Attributes:
        session: the session.
        added: values that the metastore may not know yet, by a table's full name.
    """

    session: AcidSession
    added: Mapping[str, Collection[tuple[str, ...]]]
    _fetched: dict[tuple[str, PartitionFilter], tuple[tuple[str, ...], ...]] = field(
        default_factory=dict
    )

    def of(self, table: Table, accepted: PartitionFilter = ()) -> tuple[tuple[str, ...], ...]:
        """Return the sorted values of a table's partitions that meet a filter, and possibly of
        others.
        """
        key = table.full_name, accepted
        if key not in self._fetched:
            values = self.session.metastore.partition_values(table.database, table.name, accepted)
            if self.added.get(table.full_name):
                values = tuple(sorted({*values, *self.added[table.full_name]}))
            self._fetched[key] = values
        return self._fetched[key]


def find_required_rows(
    session: AcidSession,
    plan: bridge.LogicalPlan,
    tables: Mapping[Occurrence, Table],
    current: bridge.CurrentValues,
    scan: Callable[[Table, RequiredRows], bridge.UnresolvedPlan | None],
    added: Mapping[str, Collection[tuple[str, ...]]],
) -> dict[Occurrence, RequiredRows]:
    """Find the rows that a statement requires of each occurrence of a table.

    Args:
        plan: the statement's plan over placeholders.
        tables: table of each placeholder.
        current: the statement's current time, user and database.
        scan: builds a plan of the required rows of a table; None if it would take too long to read
            them before the statement runs.
        added: values of partitions that the metastore may not know yet, by a table's full name.

    Returns:
        The required rows by occurrence. An occurrence may be left out if all of its rows are
        required.
    """
    known = KnownPartitions(session=session, added=added)
    plan_requires = required_of_placeholders(session.spark, plan, current)
    required_rows = {
        occurrence: RequiredRows(count_only=True)
        for occurrence in plan_requires.count_only
        if not tables[occurrence].insert_only
    }
    for occurrence, copies in plan_requires.copies.items():
        table = tables[occurrence]
        given = pushable(table, [copy.conjuncts for copy in copies])
        conjuncts = with_generated_conditions(session, table, given)
        required = RequiredRows(conditions=_row_conditions(table, conjuncts))
        required_rows[occurrence] = _pruned(session, table, required, conjuncts, known)
    for occurrence in plan_requires.distinct_partitions_only:
        if not tables[occurrence].insert_only:
            required = required_rows.get(occurrence, ALL_ROWS)
            required_rows[occurrence] = replace(required, distinct_partitions_only=True)
    for occurrence, columns in plan_requires.columns.items():
        required_rows[occurrence] = replace(
            required_rows.get(occurrence, ALL_ROWS), columns=columns
        )

    def scan_placeholder(occurrence: Occurrence) -> bridge.UnresolvedPlan | None:
        return scan(tables[occurrence], required_rows.get(occurrence, ALL_ROWS))

    for occurrence, copies in plan_requires.copies.items():
        table, required = tables[occurrence], required_rows[occurrence]
        is_pruned_enough = (
            required.partitions is not None
            and len(required.partitions) < limits().pruning_partitions
        )
        is_paired = table.changes is not None and bool(table.changes.keys)
        if is_pruned_enough or is_paired or not any(copy.lookups for copy in copies):
            continue
        conjuncts = []
        for copy in copies:
            with bridge.job_description(session.spark, f"values that prune {table.full_name}"):
                looked_up = [evaluate(session.spark, one, scan_placeholder) for one in copy.lookups]
            conjuncts.append((*copy.conjuncts, *filter(None, looked_up)))
        conjuncts = with_generated_conditions(session, table, conjuncts)
        required_rows[occurrence] = _pruned(session, table, required, conjuncts, known)
    return required_rows


def _row_conditions(
    table: Table, copies: Sequence[Sequence[bridge.Conjunct]]
) -> tuple[tuple[bridge.Conjunct, ...], ...]:
    """Return the conjuncts of each copy on stored columns; () if a copy lacks such conjuncts."""
    stored = {c.name for c in table.columns}
    conditions = tuple(tuple(c for c in copy if c.columns.keys() <= stored) for copy in copies)
    return conditions if all(conditions) and not table.insert_only else ()


def _pruned(
    session: AcidSession,
    table: Table,
    required: RequiredRows,
    copies: Sequence[Sequence[bridge.Conjunct]],
    known: KnownPartitions,
) -> RequiredRows:
    """Restrict required rows to the partitions that meet the conjuncts of at least one copy.

    If a copy has no conjunct on partition columns, all partitions are required.

    Args:
        known: values of the partitions of tables.
    """
    names = {c.name for c in table.partition_columns}
    about_partitions = tuple(tuple(c for c in copy if c.columns.keys() <= names) for copy in copies)
    if not all(about_partitions):
        return replace(required, partitions=None)
    values = known.of(table, _partition_filter(session.spark, table, about_partitions))
    texts = [[None if v == DEFAULT_PARTITION else v for v in row] for row in values]
    schema = partition_schema(session.spark, table)
    chosen = {
        i for c in about_partitions for i in bridge.matching_rows(session.spark, c, schema, texts)
    }
    return replace(
        required,
        partitions=frozenset(values[i] for i in chosen),
        partition_conditions=about_partitions,
    )


def _partition_filter(
    spark: SparkSession, table: Table, alternatives: Sequence[Sequence[bridge.Conjunct]]
) -> PartitionFilter:
    """Return what a metastore can evaluate of the conditions on partition columns."""
    return tuple(tuple(_comparisons(spark, table, conjuncts)) for conjuncts in alternatives)


def _comparisons(
    spark: SparkSession, table: Table, conjuncts: Sequence[bridge.Conjunct]
) -> Iterator[PartitionComparison]:
    ordinals = {c.name: i for i, c in enumerate(table.partition_columns)}
    for name, operator, constants in bridge.comparisons(spark, conjuncts):
        column = table.partition_columns[ordinals[name]] if name in ordinals else None
        if column is None or not 0 < len(constants) <= MOST_VALUES:
            continue
        kind = _COMPARED.get(column.type.lower())
        if kind is not None and all(type(constant) is kind for constant in constants):
            yield PartitionComparison(ordinal=ordinals[name], operator=operator, values=constants)
